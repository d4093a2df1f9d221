"""Optimised kernels for tasks: what there is to keep in a curated set.

A family of writers has a plan of what a task computes and draws how: vectors,
shared-memory tiles, register blocks, warp reductions, fusion, blocks that stay.
All are right on both devices; which of them are fast, curation finds out.
"""

import zlib
from collections.abc import Callable, Sequence

import numpy as np

from jaxkern.data.corpus import Proposal
from jaxkern.data.variants import (
  attention,
  chains,
  columns,
  maps,
  parts,
  product_plans,
  products,
  row_plans,
  rows,
  scans,
  tiles,
)
from jaxkern.tasks import suite
from jaxkern.tasks.task import Task

__all__ = ["names", "only_divided_anew", "parts", "propose", "writers"]

Writer = Callable[[np.random.Generator], str]
_DRAWS = 60
# Turns that a task gets whose kernels can hardly be twice as fast.
_SLOW_EVERY = 4


def writers(task: Task) -> list[Writer]:
  """What can write the task, each in many ways.

  Every task with a naive kernel of the usual form has one: maps.py. Where
  something knows better what the task computes, that writes it instead.
  """
  if task.name in suite.names():
    plans = _of_recipe(task)
  else:
    plans = _of_suite(task)
  found = [(module, plan) for module, plan in plans if plan is not None]
  if not found:
    found = [(maps, body) for body in [maps.body_of(task)] if body]
  return [
    lambda rng, module=module, plan=plan: module.write(task, plan, rng)
    for module, plan in found
  ]


def _of_recipe(task: Task) -> list[tuple]:
  recipe = suite.recipe(task.name)
  return [
    (rows, row_plans.of_recipe(recipe)),
    (products, product_plans.of_recipe(recipe, task)),
    (tiles, tiles.of_recipe(recipe)),
  ]


def _of_suite(task: Task) -> list[tuple]:
  operation = task.name.rpartition("_")[0]
  return [
    (rows, row_plans.of_suite(operation)),
    (products, product_plans.of_suite(operation, task)),
    (tiles, tiles.of_suite(operation)),
    (columns, columns.of_suite(operation)),
    (attention, attention.of_suite(operation)),
    (chains, chains.of_suite(operation, task)),
    (scans, scans.of_suite(task.name)),
  ]


def names(families: Sequence[str] | None = None) -> list[str]:
  """Training tasks that have writers, of the primer and of the suite."""
  found = [n for s in suite.SETS for n in suite.names("train", set=s)]
  return [
    name
    for name in found
    if (families is None or suite.get(name).family in families)
    and writers(suite.get(name))
  ]


def propose(
  seed: int, count: int, families: Sequence[str] | None = None
) -> list[Proposal]:
  """At most `count` distinct kernels, dealt out over the tasks.

  Pure: a smaller count gives the beginning. A task that has no further ways
  leaves its turns to the others; one of which only the naive kernel is known
  gets a turn in four.

  Raises:
    ValueError: no task of these families has a writer.
  """
  found = names(families)
  order = np.random.default_rng(seed).permutation(len(found))
  tasks = {found[k]: writers(suite.get(found[k])) for k in order}
  if not tasks:
    raise ValueError(f"families: expected some with writers, got {families}")
  rngs = {
    name: np.random.default_rng((seed, zlib.crc32(name.encode())))
    for name in tasks
  }
  slow = {n for n in tasks if only_divided_anew(suite.get(n))}
  seen: set[tuple[str, str]] = set()
  proposals: list[Proposal] = []
  turn = 0
  while tasks and len(proposals) < count:
    for name in list(tasks):
      if name in slow and turn % _SLOW_EVERY:
        continue
      source = _new(name, tasks[name], rngs[name], seen)
      if source is None:
        del tasks[name]
      elif len(proposals) < count:
        proposals.append(Proposal(name, source, None))
    turn += 1
  return proposals


def only_divided_anew(task: Task) -> bool:
  """Whether a task's naive kernel is all that is known of it."""
  plans = _of_recipe(task) if task.name in suite.names() else _of_suite(task)
  return all(plan is None for _, plan in plans)


def _new(name, ways: Sequence[Writer], rng, seen) -> str | None:
  """A kernel that was not written before, or None if none is found."""
  for _ in range(_DRAWS):
    source = ways[int(rng.integers(len(ways)))](rng)
    if (name, source) not in seen:
      seen.add((name, source))
      return source
  return None
