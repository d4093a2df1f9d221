"""All tasks by name, in two sets, and those of files.

'primer' is composed of small elements (recipe.py): what the demo's policy and
its corpus are about. A test task of it is a new combination of elements that
training tasks contain apart: an activation after a form, an epilogue after a
product, a row operation on a composed element. What is held out is the
composition, not its parts.

'suite' is what people write kernels for (families/). families/split.json says
which families are for training, validation and testing.
"""

import difflib
import functools
import json
import pathlib

from jaxkern.tasks import elementwise, files, matrix, rows
from jaxkern.tasks.families import (
  attention,
  convolution,
  losses,
  mlp,
  normalisation,
  optimisers,
  ordering,
  pooling,
  positions,
  quantised,
  recurrences,
  reductions,
  routing,
  stencils,
)
from jaxkern.tasks.families import elementwise as single_elements
from jaxkern.tasks.families import matrix as products
from jaxkern.tasks.recipe import Recipe
from jaxkern.tasks.task import Task

SETS = ("primer", "suite")
SPLITS = ("train", "validation", "test")
SPLIT = pathlib.Path(__file__).parent / "families/split.json"
_FAMILIES = (
  single_elements,
  reductions,
  normalisation,
  losses,
  products,
  mlp,
  attention,
  positions,
  convolution,
  pooling,
  recurrences,
  optimisers,
  quantised,
  routing,
  ordering,
  stencils,
)


def names(
  split: str | None = None, level: int | None = None, set: str = "primer"
) -> list[str]:
  """Names of a set's tasks, of a split and a level, in a fixed order."""
  if set not in SETS:
    raise ValueError(f"set: expected 'primer' or 'suite', got {set!r}")
  if split not in (None, *SPLITS):
    raise ValueError(
      f"split: expected 'train', 'validation' or 'test', got {split!r}"
    )
  if level not in (None, 1, 2, 3):
    raise ValueError(f"level: expected 1, 2 or 3, got {level!r}")
  made = _suite().values()
  if set == "primer":
    made = (recipe for recipe, _ in _table().values())
  return [
    one.name
    for one in made
    if split in (None, one.split) and level in (None, one.level)
  ]


def select(
  set: str, split: str | None = None, level: int | None = None
) -> list[Task]:
  """Tasks of a set, or of a file or folder (files.py), where no split counts.

  Raises ValueError if it is neither, or has no task of that split and level.
  """
  if set in SETS:
    found = [get(name) for name in names(split, level, set)]
  elif pathlib.Path(set).exists():
    found = [t for t in files.all_of(set) if level in (None, t.level)]
  else:
    raise ValueError(
      f"set: expected 'primer', 'suite', or a file or folder of tasks, got"
      f" {set!r}"
    )
  if not found:
    raise ValueError(f"set: no task of {set} is of this split and level")
  return found


def recipe(name: str) -> Recipe:
  """The composition behind a task of the primer.

  Raises ValueError for an unknown name.
  """
  if name not in _table():
    raise ValueError(_unknown(name, _table()))
  return _table()[name][0]


@functools.cache
def get(name: str) -> Task:
  """The task of that name, or of a file (files.py) of that path.

  Raises ValueError for an unknown name and for a file that defines none.
  """
  if files.is_path(name):
    return files.load(name)
  if name in _table():
    made, build = _table()[name]
    return build(made)
  if name in _suite():
    return _suite()[name]
  raise ValueError(_unknown(name, {**_table(), **_suite()}))


def splits() -> dict[str, str]:
  """The split of each of the suite's families."""
  by_split = json.loads(SPLIT.read_text())["families"]
  return {f: split for split, some in by_split.items() for f in some}


def _unknown(name, table) -> str:
  close = difflib.get_close_matches(str(name), table, n=3)
  hint = f"; did you mean {' or '.join(close)}?" if close else ""
  return f"task: no task is named {name!r}{hint}"


@functools.cache
def _table() -> dict:
  return {
    made.name: (made, family.task)
    for family in (elementwise, rows, matrix)
    for made in family.recipes()
  }


@functools.cache
def _suite() -> dict[str, Task]:
  split = splits()
  return {
    task.name: task._replace(split=split[task.family])
    for family in _FAMILIES
    for task in family.tasks()
  }
