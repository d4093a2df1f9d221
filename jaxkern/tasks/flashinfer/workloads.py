"""Workloads of flashinfer-bench: sizes, numbers, and arrays in files."""

import functools
import json
import pathlib
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import safetensors

# Sizes where no workload is known: checked, timed; hidden; large.
_ASSUMED = (2, 5, 16, 33, 512)


class Workload(NamedTuple):
  """One way in which a definition is used.

  Attributes:
    sizes: values of the axes that vary, and of inputs that are numbers.
    arrays: functions that read an input, by name; others are random.
  """

  sizes: Mapping[str, int | float | bool]
  arrays: Mapping[str, Callable[[], np.ndarray]]


def read_workloads(path: pathlib.Path, made: Mapping) -> list[Workload]:
  """Those of the definition in `path`; [] if there is no file of them.

  The file lies beside it, or in `workloads` beside the folder `definitions`.

  Raises:
    ValueError: a line is malformed.
  """
  root = path.parent
  for folder in path.parents:
    if folder.name == "definitions":
      root = folder.parent
  name = f"{made['name']}.jsonl"
  places = [path.parent / name, *sorted((root / "workloads").rglob(name))]
  found = []
  for place in filter(pathlib.Path.is_file, places):
    for number, line in enumerate(place.read_text().splitlines(), 1):
      if line.strip():
        try:
          found.append(_workload(json.loads(line)["workload"], made, root))
        except (KeyError, TypeError, ValueError) as error:
          raise ValueError(f"{place.name}:{number}: {_said(error)}") from error
  return found


def assumed(made: Mapping) -> list[Workload]:
  """Workloads of random inputs, where these can be meant.

  Raises:
    ValueError: an input is a number, or integers, which are indices.
  """
  for name, spec in made["inputs"].items():
    if spec.get("shape") is None or "int" in spec["dtype"]:
      raise ValueError(
        f"{name}: expected a workload that says what it is, got none (no"
        f" workloads/{made['op_type']}/{made['name']}.jsonl)"
      )
  varying = [a for a, spec in made["axes"].items() if spec["type"] == "var"]
  return [
    Workload({axis: size + k for k, axis in enumerate(varying)}, {})
    for size in _ASSUMED
  ]


def _said(error: Exception) -> str:
  if isinstance(error, KeyError):
    return f"expected {error.args[0]!r}, got none"
  return str(error)


def _workload(line: Mapping, made: Mapping, root: pathlib.Path) -> Workload:
  axes = made["axes"]
  sizes = {a: line["axes"][a] for a in axes if axes[a]["type"] == "var"}
  for axis, size in sizes.items():
    if not isinstance(size, int) or size < 1:
      raise ValueError(f"{axis}: expected a size of 1 or more, got {size!r}")
  extents = {a: spec.get("value", sizes.get(a)) for a, spec in axes.items()}
  arrays = {}
  for name, spec in made["inputs"].items():
    source = line["inputs"][name]
    kind = source["type"]
    if kind == "scalar" and spec.get("shape") is None:
      sizes[name] = source["value"]
    elif kind == "safetensors" and spec.get("shape") is not None:
      shape = tuple(extents[axis] for axis in spec["shape"])
      arrays[name] = functools.partial(
        _read, root / source["path"], source["tensor_key"], shape, spec["dtype"]
      )
    elif (
      kind != "random" or spec.get("shape") is None or "int" in spec["dtype"]
    ):
      expected = (
        "a number" if spec.get("shape") is None else "values from a file"
      )
      if spec.get("shape") is not None and "int" not in spec["dtype"]:
        expected = "'random' or 'safetensors'"
      raise ValueError(f"{name}: expected {expected}, got {kind!r}")
  return Workload(sizes, arrays)


def _read(path: pathlib.Path, key: str, shape: tuple, dtype: str) -> np.ndarray:
  """Raises ValueError if it is not what the definition says."""
  if not path.is_file():
    raise ValueError(f"workload: expected a file, got {path}")
  with safetensors.safe_open(path, "np") as file:
    if key not in list(file.keys()):
      raise ValueError(f"workload: {path.name}: expected {key!r}, got none")
    array = file.get_tensor(key)
  if (array.shape, array.dtype.name) != (shape, dtype):
    raise ValueError(
      f"workload: {path.name}: {key}: expected {dtype}{list(shape)}, got"
      f" {array.dtype.name}{list(array.shape)}"
    )
  return array
