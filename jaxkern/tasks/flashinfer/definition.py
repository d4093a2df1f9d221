"""A definition of flashinfer-bench: is it whole, and what are its arguments?"""

import ast
import json
import pathlib
from collections.abc import Mapping
from typing import Any

from jaxkern.tasks.task import C_TYPES, Argument

_WANTED = {
  "name": str,
  "op_type": str,
  "reference": str,
  "axes": dict,
  "inputs": dict,
  "outputs": dict,
}


def is_one(path: pathlib.Path) -> bool:
  """Whether the file means to be a definition, and no other JSON."""
  try:
    made = json.loads(path.read_text())
  except ValueError:
    return False
  return isinstance(made, dict) and {"op_type", "reference"} <= made.keys()


def read(path: pathlib.Path) -> dict[str, Any]:
  """The definition. Raises ValueError unless it can be a task."""
  made = json.loads(path.read_text())
  if not isinstance(made, dict):
    raise ValueError(f"expected an object, got a {type(made).__name__}")
  for key, kind in _WANTED.items():
    got = made.get(key)
    if not isinstance(got, kind) or not got:
      raise ValueError(f"{key}: expected a {kind.__name__}, got {got!r}")
  for axis, spec in made["axes"].items():
    kind, value = spec.get("type"), spec.get("value")
    if kind != "var" and not (kind == "const" and isinstance(value, int)):
      raise ValueError(
        f"axis {axis}: expected type 'var', or 'const' and a value, got {spec}"
      )
  if made["op_type"] == "sampling":
    raise ValueError(
      "op_type: expected one whose outputs follow from its inputs, got"
      " 'sampling'"
    )
  _check_reference(made["reference"])
  return made


def _check_reference(text: str) -> None:
  try:
    body = ast.parse(text).body
  except SyntaxError as error:
    raise ValueError(f"reference: expected Python, got {error}") from error
  if not any(isinstance(s, ast.FunctionDef) and s.name == "run" for s in body):
    raise ValueError("reference: expected a function 'run', got none")


def arguments(made: Mapping) -> tuple[Argument, ...]:
  """Inputs, outputs, the axes that vary, then inputs without a shape."""
  arrays, numbers = [], []
  axes: dict[str, None] = {}
  for kind in ("input", "output"):
    for name, spec in made[f"{kind}s"].items():
      dtype = spec.get("dtype")
      if dtype not in C_TYPES:
        raise ValueError(
          f"{name}: expected a dtype of {', '.join(C_TYPES)}, got {dtype!r}"
        )
      if spec.get("shape") is None and kind == "input":
        numbers.append(Argument(name, "attribute", _number(dtype)))
        continue
      extents = _extents(name, spec.get("shape"), made["axes"])
      axes |= dict.fromkeys(e for e in extents if isinstance(e, str))
      arrays.append(Argument(name, kind, dtype, extents))
  found = (
    *arrays,
    *(Argument(axis, "attribute", "int64") for axis in axes),
    *numbers,
  )
  names = [a.name for a in found]
  for name in names:
    if names.count(name) > 1 or not name.isidentifier():
      raise ValueError(f"expected distinct names of C++, got {name!r}")
  return found


def _extents(name: str, shape, axes: Mapping) -> tuple[str | int, ...]:
  if not shape or any(axis not in axes for axis in shape):
    raise ValueError(
      f"{name}: expected axes of {', '.join(axes)} as its shape, got {shape}"
    )
  return tuple(axes[axis].get("value", axis) for axis in shape)


def _number(dtype: str) -> str:
  """The dtype of an attribute."""
  if dtype == "bool":
    return "bool"
  return "float32" if "float" in dtype else "int64"
