"""All tasks by name.

A test task is a new combination of elements that training tasks contain apart:
an activation after a form, an epilogue after a product, a row operation on a
composed element. What is held out is the composition, not its parts.
"""

import difflib
import functools

from jaxkern.tasks import elementwise, matrix, rows
from jaxkern.tasks.recipe import Recipe
from jaxkern.tasks.task import Task


def names(split: str | None = None, level: int | None = None) -> list[str]:
  """Names of the tasks of a split and a level, in a fixed order."""
  if split not in (None, "train", "test"):
    raise ValueError(f"split: expected 'train' or 'test', got {split!r}")
  if level not in (None, 1, 2):
    raise ValueError(f"level: expected 1 or 2, got {level!r}")
  return [
    name
    for name, (made, _) in _table().items()
    if split in (None, made.split) and level in (None, made.level)
  ]


def recipe(name: str) -> Recipe:
  """The composition behind a task. Raises ValueError for an unknown name."""
  return _entry(name)[0]


@functools.cache
def get(name: str) -> Task:
  """The task of that name. Raises ValueError for an unknown name."""
  made, build = _entry(name)
  return build(made)


def _entry(name: str):
  table = _table()
  if name not in table:
    close = difflib.get_close_matches(str(name), table, n=3)
    hint = f"; did you mean {' or '.join(close)}?" if close else ""
    raise ValueError(f"task: no task is named {name!r}{hint}")
  return table[name]


@functools.cache
def _table() -> dict:
  return {
    made.name: (made, family.task)
    for family in (elementwise, rows, matrix)
    for made in family.recipes()
  }
