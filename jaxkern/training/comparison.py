"""Runs side by side: what accuracy they reached, and after how long.

A run is what `jaxkern.bin.train` leaves. Runs that differ in their seed alone
are one method; its name is that of their directory without `-SEED` at the end.

Wall clock is what a run's RL steps took, one after the other; warm start and
evaluations are not in it. Accuracy over time is that of
first turns during training, an exponential average over steps: the only figure
that every step of every method has (what a gate leaves out has no later turns).
Accuracy by turn is of the evaluation after training, in which every failure of
every method gets every turn.
"""

import json
import math
import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jaxkern.training import metrics

_RESAMPLES = 2000
_WALL = ("seconds_sampling", "seconds_evaluating", "seconds_updating")


class Run(NamedTuple):
  """One run's figures.

  Attributes:
    seed: of its config.
    seconds: [S], wall clock at the end of each RL step.
    accuracy: [S], share of first turns that passed, averaged over steps.
    activated: share of groups that got further turns.
    recovered: share of failed first turns of all groups that passed later.
    turns_per_pass: turns taken by success.
    final: pass@k by k after training, on new tasks; {} if unfinished.
  """

  seed: int
  seconds: np.ndarray
  accuracy: np.ndarray
  activated: float
  recovered: float
  turns_per_pass: float
  final: dict[int, float]


def load(directory: str | os.PathLike, memory: float = 0.7) -> Run:
  """A run's figures from its directory.

  Args:
    directory: of the run.
    memory: of the exponential average; 0 for none.

  Raises:
    ValueError: no run, or one without a step of reinforcement.
  """
  directory = pathlib.Path(directory)
  if not (directory / "config.json").exists():
    raise ValueError(f"runs: expected a run's directory, got {directory}")
  config = json.loads((directory / "config.json").read_text())
  lines = [
    line
    for line in metrics.read(directory / "metrics.jsonl")
    if line["stage"] == "rl"
  ]
  if not lines:
    raise ValueError(f"runs: {directory} has no step of reinforcement yet")
  rl = config["rl"]
  last = f"pass@{rl['turns']}"
  rollouts = rl["prompts"] * rl["group_size"]
  taken = sum(n for x in lines for k, n in x.items() if k.startswith("status/"))
  passes = sum(x[last] for x in lines) * rollouts
  failed = sum(1 - x["pass@1"] for x in lines)
  repaired = sum(x[last] - x["pass@1"] for x in lines)
  groups = rl["prompts"] * len(lines)
  expanded = sum(x["groups_expanded"] for x in lines) if rl["turns"] > 1 else 0
  return Run(
    seed=config["seed"],
    seconds=np.cumsum([seconds_of(x) for x in lines]),
    accuracy=smooth([x["pass@1"] for x in lines], memory),
    activated=expanded / groups,
    recovered=repaired / failed if failed else 0.0,
    turns_per_pass=taken / passes if passes else math.inf,
    final=_final(directory / "summary.json"),
  )


def seconds_of(line: Mapping[str, float]) -> float:
  """A step's seconds on the clock, of which old runs have the parts only."""
  return line.get("seconds_step") or sum(line[k] for k in _WALL)


def methods(directories: Sequence[str]) -> dict[str, list[Run]]:
  """Runs by method: names without `-SEED`, in the order they are met.

  Raises:
    ValueError: two runs of a method have the same seed.
  """
  found: dict[str, list[Run]] = {}
  for directory in directories:
    run = load(directory)
    name = pathlib.Path(directory).resolve().name
    name = name.removesuffix(f"-{run.seed}")
    if run.seed in [other.seed for other in found.get(name, [])]:
      raise ValueError(f"runs: {name} has two runs of seed {run.seed}")
    found.setdefault(name, []).append(run)
  return found


def smooth(values: Sequence[float], memory: float) -> np.ndarray:
  """Exponential average without the bias of its start."""
  total = weight = 0.0
  smoothed = []
  for value in values:
    total = memory * total + value
    weight = memory * weight + 1
    smoothed.append(total / weight)
  return np.array(smoothed)


def time_to(run: Run, level: float) -> float:
  """Seconds until the run's accuracy is at least `level`; infinity if never."""
  reached = np.flatnonzero(run.accuracy >= level)
  return float(run.seconds[reached[0]]) if reached.size else math.inf


def levels(runs: Mapping[str, Sequence[Run]], count: int = 4) -> list[float]:
  """Accuracies from where the runs begin to the best that all of them reach.

  Empty if some run never rises above where another began.
  """
  everyone = [run for group in runs.values() for run in group]
  low = max(float(run.accuracy[0]) for run in everyone)
  high = min(float(run.accuracy.max()) for run in everyone)
  if high <= low:
    return []
  return np.linspace(low, high, count + 1)[1:].tolist()


def ratio(
  slow: Sequence[Run], fast: Sequence[Run], level: float
) -> tuple[float, list[float]]:
  """Mean time of `slow` to a level by that of `fast`, and its 95 % interval.

  The interval is a bootstrap over seeds, of each method on its own. With one
  seed of each it is the point itself, and says nothing.
  """
  ours = [np.array([time_to(r, level) for r in runs]) for runs in (slow, fast)]
  rng = np.random.default_rng(0)
  draws = [
    rng.choice(times, (_RESAMPLES, len(times))).mean(axis=1) for times in ours
  ]
  value = float(ours[0].mean() / ours[1].mean())
  return value, np.quantile(draws[0] / draws[1], [0.025, 0.975]).tolist()


def band(
  runs: Sequence[Run], points: int = 100
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
  """(seconds, mean, least, most) of the runs' accuracy on one clock.

  Between steps accuracy is interpolated; the clock ends where the shortest run
  does.
  """
  start = max(run.seconds[0] for run in runs)
  end = min(run.seconds[-1] for run in runs)
  clock = np.linspace(min(start, end), end, points)
  values = [np.interp(clock, run.seconds, run.accuracy) for run in runs]
  return clock, np.mean(values, 0), np.min(values, 0), np.max(values, 0)


def _final(path: pathlib.Path) -> dict[int, float]:
  if not path.exists():
    return {}
  rates = json.loads(path.read_text())["new_tasks"]["after"]
  return {
    int(k.removeprefix("pass@")): v
    for k, v in rates.items()
    if k.startswith("pass@") and k[-1].isdigit()
  }
