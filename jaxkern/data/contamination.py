"""What must not be trained on: tasks of evaluations, by name and by text.

By name: the candidate's task is one of an evaluation, whatever its dtype. By
text: of the runs of words that tell an evaluation's operation from the others,
a share stands in the candidate's statement or kernel.
"""

import collections
import os
import pathlib
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from jaxkern.data import cuda_text
from jaxkern.tasks import kernelbench, suite
from jaxkern.tasks.task import Task, shapes

# Runs of words in more operations than this are how one writes CUDA.
_COMMON = 2
_DTYPES = re.compile(r"_(f32|f16|bf16|i32|i8|u8|int32|float\d+|bfloat16)$")
_NUMBER = re.compile(r"^(level_?\d+[_/])?\d+_")


class Evaluated(NamedTuple):
  """An evaluation's task: its name, its statement and kernels known for it."""

  name: str
  statement: str
  kernels: tuple[str, ...] = ()


class Contamination(NamedTuple):
  """Why a candidate is left out.

  Attributes:
    rule: 'name', 'statement' or 'kernel'.
    task: of the evaluation.
    share: of the evaluation's own runs of words that were found; 1 for a name.
  """

  rule: str
  task: str
  share: float


def operation(name: str) -> str:
  """'19_ReLU.py' -> 'relu', 'softmax_f16' -> 'softmax'."""
  name = _NUMBER.sub("", name.strip().removesuffix(".py"))
  name = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_").lower()
  return _DTYPES.sub("", name)


def held_out() -> list[Evaluated]:
  """Our own validation and test tasks, with their naive kernels."""
  names = [
    name
    for set_ in suite.SETS
    for split in ("validation", "test")
    for name in suite.names(split, set=set_)
  ]
  return [of_task(suite.get(name)) for name in names]


def of_task(task: Task) -> Evaluated:
  """A task of ours as an evaluation has it."""
  return Evaluated(task.name, statement(task), (task.baseline,))


def statement(task: Task) -> str:
  """What a task of ours asks for; the mathematics alone may be another's."""
  return f"{task.summary}\n{shapes(task)}"


def of_kernelbench(checkout: str | os.PathLike) -> list[Evaluated]:
  """A checkout's problems; their names and texts.

  Raises:
    ValueError: it has none.
  """
  found = kernelbench.problems(pathlib.Path(checkout), kernelbench.LEVELS)
  return [Evaluated(p.name, p.source) for p in found]


class Detector:
  """Looks candidates up among evaluations' tasks."""

  def __init__(self, evaluated: Iterable[Evaluated], n: int, share: float):
    """Indexes runs of `n` words; from `share` of an operation's on it is one.

    Raises:
      ValueError: no run, or no share, can be meant.
    """
    if n < 2 or not 0 < share <= 1:
      raise ValueError(
        f"contamination: expected n >= 2 and 0 < share <= 1, got {n}, {share}"
      )
    self._n, self._share = n, share
    self._names: set[str] = set()
    statements: dict[str, set] = collections.defaultdict(set)
    kernels: dict[str, set] = collections.defaultdict(set)
    for task in evaluated:
      name = operation(task.name)
      self._names.add(name)
      statements[name] |= cuda_text.grams(task.statement, n)
      for text in task.kernels:
        kernels[name] |= cuda_text.grams(text, n)
    self._statements = _index(statements)
    self._kernels = _index(kernels)

  def look(
    self, name: str, statement: str, kernel: str
  ) -> Contamination | None:
    """What a candidate has of an evaluation; None for nothing of note."""
    own = operation(name)
    if own and own in self._names:
      return Contamination("name", own, 1.0)
    for rule, text, index in (
      ("statement", statement, self._statements),
      ("kernel", kernel, self._kernels),
    ):
      task, share = index.most(cuda_text.grams(text, self._n))
      if share >= self._share:
        return Contamination(rule, task, round(share, 3))
    return None


class _Index(NamedTuple):
  """Operations by run of words, and how many of its own each has."""

  owners: Mapping[tuple, tuple[str, ...]]
  sizes: Mapping[str, int]

  def most(self, grams: set) -> tuple[str, float]:
    """The operation that is most in `grams`, and by what share."""
    hits = collections.Counter(
      name for gram in grams for name in self.owners.get(gram, ())
    )
    shares = {name: n / self.sizes[name] for name, n in hits.items()}
    name = max(sorted(shares), key=shares.get, default="")
    return name, shares.get(name, 0.0)


def _index(by_name: Mapping[str, set]) -> _Index:
  owners = collections.defaultdict(list)
  for name, grams in by_name.items():
    for gram in grams:
      owners[gram].append(name)
  owners = {g: tuple(n) for g, n in owners.items() if len(n) <= _COMMON}
  sizes = collections.Counter(n for names in owners.values() for n in names)
  return _Index(owners, sizes)
