"""A corpus of kernels with the evaluator's word on each of them.

`propose` writes kernels for training tasks in many styles, some with a broken
first attempt; `verify` keeps what the evaluator confirms: sources that are ok
and attempts that are not, each attempt with the log a model will see.
"""

import json
import os
import pathlib
import zlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import tqdm

from jaxkern.data import kernels, mutations, styles
from jaxkern.data.jsonl import cut_unfinished, read_lines
from jaxkern.evaluator import Evaluator, Request
from jaxkern.tasks import suite

_ATTEMPT_EVERY = 3  # One proposal in three is a repair.
_DRAWS = 200
_CHUNK = 24  # Proposals between two writes to disk.


class Proposal(NamedTuple):
  """A kernel that should be right, and perhaps an attempt that should not.

  Attributes:
    task: name of a training task.
    source: CUDA C++; the text ends after `launch`.
    attempt: a broken version of source, or None.
  """

  task: str
  source: str
  attempt: str | None


class Example(NamedTuple):
  """A verified proposal; one line of the corpus.

  Attributes:
    task, source, attempt: as in Proposal; the source is known to be ok.
    status: the attempt's, never 'ok'; None without attempt.
    log: what the evaluator said of the attempt; None without attempt.
  """

  task: str
  source: str
  attempt: str | None
  status: str | None
  log: str | None


def propose(task_names: Sequence[str], seed: int, count: int) -> list[Proposal]:
  """Distinct kernels, dealt out evenly over the tasks.

  Pure: the same arguments give the same list, and a smaller count its
  beginning.

  Raises:
    ValueError: no task, an unknown or a test task, or more kernels asked for
      than a task has styles.
  """
  if not task_names:
    raise ValueError("task_names: expected at least one task, got none")
  for name in task_names:
    if suite.recipe(name).split != "train":
      raise ValueError(f"task_names: {name} is a test task")
  rngs = {
    name: np.random.default_rng((seed, zlib.crc32(name.encode())))
    for name in task_names
  }
  seen: set[str] = set()
  proposals = []
  for index in range(count):
    turn, position = divmod(index, len(task_names))
    name = task_names[position]
    source = _new_source(name, rngs[name], seen)
    attempt = None
    if (turn + position) % _ATTEMPT_EVERY == 0:
      attempt = mutations.mutate(source, suite.recipe(name), rngs[name])
    proposals.append(Proposal(name, source, attempt))
  return proposals


def _new_source(name: str, rng: np.random.Generator, seen: set[str]) -> str:
  recipe = suite.recipe(name)
  for _ in range(_DRAWS):
    source = kernels.write(recipe, styles.draw(recipe.family, rng))
    if f"{name}\n{source}" not in seen:
      seen.add(f"{name}\n{source}")
      return source
  raise ValueError(f"count: found no further distinct kernel for {name}")


def verify(
  proposals: Sequence[Proposal],
  evaluator: Evaluator,
  path: str | os.PathLike,
  progress: bool = True,
) -> list[Example]:
  """Evaluates proposals and appends those that hold to the JSONL file `path`.

  What is in the file already is not evaluated again, so a killed run continues
  where it stopped. A proposal whose source the evaluator refuses is left out;
  one whose attempt turns out right is kept without the attempt.

  Returns:
    The corpus' examples of these proposals, in the order of the proposals.
  """
  path = pathlib.Path(path)
  path.parent.mkdir(parents=True, exist_ok=True)
  cut_unfinished(path)
  found = {(e.task, e.source): e for e in load(path)}
  pending = [p for p in proposals if (p.task, p.source) not in found]
  with (
    open(path, "a", encoding="utf-8") as file,
    tqdm.tqdm(
      total=len(proposals),
      initial=len(proposals) - len(pending),
      desc="verifying kernels",
      unit="kernel",
      disable=not progress,
    ) as bar,
  ):
    for start in range(0, len(pending), _CHUNK):
      chunk = pending[start : start + _CHUNK]
      for example in _evaluated(chunk, evaluator):
        file.write(json.dumps(example._asdict()) + "\n")
        found[example.task, example.source] = example
      file.flush()
      bar.update(len(chunk))
  keys = [(p.task, p.source) for p in proposals]
  return [found[key] for key in keys if key in found]


def load(path: str | os.PathLike) -> list[Example]:
  """The examples in a corpus file; none if there is no file."""
  return [Example(**record) for record in read_lines(path)]


def _evaluated(
  proposals: Sequence[Proposal], evaluator: Evaluator
) -> Iterable[Example]:
  requests = [
    Request(suite.get(proposal.task), source)
    for proposal in proposals
    for source in (proposal.source, proposal.attempt)
    if source is not None
  ]
  results = iter(evaluator.evaluate(requests))
  for proposal in proposals:
    right = next(results)
    wrong = None if proposal.attempt is None else next(results)
    if right.status != "ok":
      continue
    if wrong is None or wrong.status in ("ok", "infra_error"):
      yield Example(proposal.task, proposal.source, None, None, None)
    else:
      yield Example(*proposal, wrong.status, wrong.log)
