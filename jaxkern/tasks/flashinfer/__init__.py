"""Definitions of flashinfer-bench as tasks: docs/tasks.md.

  definitions/<op_type>/<name>.json   a signature and a reference in torch
  workloads/<op_type>/<name>.jsonl    sizes and inputs that were met in practice

The reference is executed by a torch worker (extra [torch]), in float64 wherever
it asks for less, so that tolerances are measured as those of our own tasks.
"""

import functools
import os
import pathlib
import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from jaxkern.tasks import measure
from jaxkern.tasks.define import rounded
from jaxkern.tasks.draws import drawer
from jaxkern.tasks.flashinfer import definition, reference
from jaxkern.tasks.flashinfer.workloads import Workload, assumed, read_workloads
from jaxkern.tasks.task import Argument, Arrays, Task, shape_of

# Of operations that are less than a block of a model.
_LEVELS = {"gemm": 1, "rmsnorm": 1, "rope": 1}


def all_of(root: str | os.PathLike) -> tuple[list[Task], dict[str, str]]:
  """The tasks of a data set, and why the others are none, by name.

  Without a folder `definitions` the definitions are those in `root` itself.
  """
  tasks, refused = [], {}
  for path in _paths(root):
    try:
      tasks.append(load(path))
    except ValueError as error:
      refused[path.stem] = str(error)
  return tasks, refused


def find(root: str | os.PathLike, name: str) -> Task | None:
  """The task of that name in a data set; None if no file is called so."""
  for path in _paths(root):
    if path.stem == name:
      return load(path)
  return None


def _paths(root: str | os.PathLike) -> list[pathlib.Path]:
  folder = pathlib.Path(root, "definitions")
  if folder.is_dir():
    return sorted(folder.rglob("*.json"))
  here = sorted(pathlib.Path(root).glob("*.json"))
  return [path for path in here if definition.is_one(path)]


def load(path: str | os.PathLike) -> Task:
  """The task of a definition, at the sizes of its workloads if there are any.

  Raises:
    ValueError: it is malformed, or cannot be judged here, and why.
  """
  path = pathlib.Path(path)
  try:
    made = definition.read(path)
    arguments = definition.arguments(made)
    workloads = read_workloads(path, made) or assumed(made)
  except (ValueError, OSError) as error:
    raise ValueError(f"task: {path.name}: {error}") from error
  return _task(made, arguments, workloads)


def _task(
  made: Mapping, arguments: tuple[Argument, ...], workloads: list[Workload]
) -> Task:
  name = re.sub(r"\W", "_", made["name"])
  by_sizes = _by_sizes(arguments, workloads)
  ordered = sorted(
    map(dict, by_sizes), key=lambda sizes: _elements(arguments, sizes)
  )
  small = tuple(ordered[:3])
  exact = reference.function(name, made, arguments)
  make_inputs = _make_inputs(arguments, by_sizes)
  extents = [a.name for a in arguments if a.dtype == "int64" and not a.shape]
  extents += [str(axis.get("value", 1)) for axis in made["axes"].values()]
  terms = f"max(1, {', '.join(extents)})"

  @functools.cache
  def bounds(key) -> tuple[float, float]:
    """Measured on inputs of its own; a sum is as long as an axis at most."""
    attributes, rng = dict(key), np.random.default_rng(0)
    inputs = make_inputs(rng, attributes)
    return measure.tolerance(
      "", arguments, exact, inputs, attributes, terms, rng
    )

  return Task(
    name=name,
    level=_LEVELS.get(made["op_type"], 3),
    family=made["op_type"],
    split="test",
    summary=f"{made.get('description') or name}\n{made['reference'].strip()}",
    arguments=arguments,
    cases=small,
    timed=(len(small) - 1,),
    hidden=(ordered[min(3, len(ordered) - 1)],),
    make_inputs=make_inputs,
    reference=lambda inputs, attributes: rounded(
      exact(inputs, attributes), arguments
    ),
    tolerance=lambda attributes: bounds(tuple(attributes.items())),
    baseline="",
    kinds=(),
    tags=tuple(made.get("tags") or ()),
    large=(ordered[-1],),
    exact=exact,
  )


def _by_sizes(
  arguments: Sequence[Argument], workloads: Sequence[Workload]
) -> dict[tuple, list[Workload]]:
  """Workloads that do not differ in what `launch` gets by value."""
  found: dict[tuple, list[Workload]] = {}
  names = [a.name for a in arguments if a.kind == "attribute"]
  for one in workloads:
    found.setdefault(tuple((n, one.sizes[n]) for n in names), []).append(one)
  return found


def _elements(arguments: Sequence[Argument], sizes: Mapping) -> int:
  """Of all arrays."""
  arrays = (a for a in arguments if a.kind != "attribute")
  return sum(int(np.prod(shape_of(a, sizes))) for a in arrays)


def _make_inputs(
  arguments: Sequence[Argument], by_sizes: Mapping[tuple, list[Workload]]
) -> Callable[[np.random.Generator, Mapping], Arrays]:
  """As in Task."""

  def make_inputs(rng: np.random.Generator, attributes: Mapping) -> Arrays:
    """Those of one of the workloads of these sizes; the others at random."""
    known = by_sizes.get(tuple(attributes.items()))
    if known is None:
      raise ValueError(f"expected sizes of a workload, got {dict(attributes)}")
    arrays = known[rng.integers(len(known))].arrays
    draws = {
      name: lambda rng, shape, attributes, read=read: read()
      for name, read in arrays.items()
    }
    return drawer(arguments, draws)("", rng, attributes)

  return make_inputs
