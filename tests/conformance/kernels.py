"""The conformance kernels as problem bundles.

Every .cu file here exercises one feature of CUDA C++ and begins with what it
must compute from x = [0, 1, ..., n - 1], worked out by hand:

  // expect: [2 * i + 1 for i in range(n)]    or: // expect: 3 5 7
  // n: 1000                                  64 if not given
  // rtol: 1e-6                               exact if not given
"""

import json
import math
import pathlib
import re

import numpy as np

DIRECTORY = pathlib.Path(__file__).parent


def names() -> list[str]:
  """All kernels, by file name."""
  return sorted(path.stem for path in DIRECTORY.glob("*.cu"))


def source(name: str) -> str:
  """A kernel's CUDA C++ text."""
  return (DIRECTORY / f"{name}.cu").read_text()


def expected(text: str) -> np.ndarray:
  """What the kernel must write, float32 [n]."""
  n, given = int(_field(text, "n", "64")), _field(text, "expect")
  if given.startswith("["):
    scope = {"__builtins__": {}, "range": range, "sum": sum, "math": math}
    values = eval(given, scope | {"n": n})
  else:
    values = [float(word) for word in given.split()]
  if len(values) != n:
    raise ValueError(f"expected {n} values, got {len(values)}: {given}")
  return np.array(values, np.float32)


def write_bundle(name: str, directory: pathlib.Path) -> str:
  """Writes the kernel's bundle to directory/name and returns that path."""
  text, y = source(name), expected(source(name))
  shape = ["n"]
  arguments = [
    {"name": "x", "kind": "input", "dtype": "float32", "shape": shape},
    {"name": "y", "kind": "output", "dtype": "float32", "shape": shape},
    {"name": "n", "kind": "attribute", "dtype": "int64", "shape": []},
  ]
  case = {
    "attributes": {"n": len(y)},
    "rtol": float(_field(text, "rtol", "0")),
    "atol": 0.0,
    "timed": False,
    "inputs": {"x": "x.npy"},
    "outputs": {"y": "y.npy"},
  }
  problem = {
    "format": 1,
    "name": name,
    "level": 1,
    "summary": "a conformance kernel",
    "arguments": arguments,
    "cases": [case],
  }
  path = directory / name
  path.mkdir()
  np.save(path / "x.npy", np.arange(len(y), dtype=np.float32))
  np.save(path / "y.npy", y)
  (path / "problem.json").write_text(json.dumps(problem))
  return str(path)


def _field(text: str, name: str, default: str | None = None) -> str:
  found = re.search(rf"^// {name}: (.*)$", text, re.MULTILINE)
  if found:
    return found[1].strip()
  if default is None:
    raise ValueError(f"no `// {name}:` in: {text[:80]}")
  return default
