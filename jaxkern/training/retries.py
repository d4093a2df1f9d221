"""Tasks that a whole group failed, served again as repairs (MusaCoder).

MusaCoder's buffer (arXiv 2606.04847): an all-failed group goes, code and error,
into a bounded first-in-first-out buffer, of which prompts are served with small
probability. Here the buffer is the end of a file: what step k finds in it
depends on the steps before, so that a run that was killed finds the same.
"""

import json
import math
import os
import pathlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jaxkern.data.jsonl import read_lines
from jaxkern.rollout.collect import Rollout


class Failed(NamedTuple):
  """An attempt that failed, and what was said of it.

  Attributes:
    step: of the group whose attempts all failed.
    task: its name.
    source, status, log: of its first rollout's last turn.
  """

  step: int
  task: str
  source: str
  status: str
  log: str


def all_failed(groups: Sequence[Sequence[Rollout]], step: int) -> list[Failed]:
  """One attempt of each group none of whose rollouts passed.

  Groups with an infra_error are left out: nobody knows that they failed.
  """
  found = []
  for group in groups:
    last = [rollout.turns[-1] for rollout in group]
    statuses = {turn.result.status for turn in last}
    if statuses & {"ok", "infra_error"}:
      continue
    result = last[0].result
    made = Failed(
      step, group[0].task, last[0].source, result.status, result.log
    )
    found.append(made)
  return found


def served(
  failed: Sequence[Failed],
  step: int,
  prompts: int,
  *,
  seed: int,
  capacity: int,
  probability: float,
) -> list[Failed | None]:
  """For each prompt of a step what to repair, or None for a task as drawn.

  Args:
    failed: what is known of the steps before; the last `capacity` are held.
    step: whose prompts.
    prompts: how many.
    seed: of the run.
    capacity: of the buffer.
    probability: that a prompt comes from it, if it holds any.
  """
  held = failed[-capacity:] if capacity else []
  rng = np.random.default_rng((seed, 4, step))
  wanted = rng.random(prompts) < probability
  places = rng.random(prompts)
  return [
    held[math.floor(place * len(held))] if held and want else None
    for place, want in zip(places, wanted, strict=True)
  ]


def check(capacity: int, probability: float) -> None:
  """Raises ValueError if there is no such buffer."""
  if capacity < 0 or not 0 <= probability <= 1:
    raise ValueError(
      "retry: expected capacity >= 0 and a probability from 0 to 1, got "
      f"{capacity} and {probability:g}"
    )


class Journal:
  """What failed so far, in a file of a run."""

  def __init__(self, path: str | os.PathLike, start: int) -> None:
    """Reads the file, if there is one.

    Args:
      path: of the file.
      start: the step that comes next; what a run that was killed wrote of it or
        later ones is dropped.
    """
    self._path = pathlib.Path(path)
    lines = [Failed(**line) for line in read_lines(self._path)]
    self._failed = [one for one in lines if one.step < start]

  def add(self, failed: Sequence[Failed]) -> None:
    """Adds what failed; the file is whole before and after."""
    self._failed += failed
    temporary = self._path.with_suffix(".tmp")
    temporary.write_text("".join(map(_line, self._failed)))
    temporary.rename(self._path)

  def before(self, step: int) -> list[Failed]:
    """What failed in the steps before one."""
    return [one for one in self._failed if one.step < step]


def _line(failed: Failed) -> str:
  return json.dumps(failed._asdict()) + "\n"
