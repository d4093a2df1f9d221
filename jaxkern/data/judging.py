"""The evaluator's word on a candidate, stage by stage, as one record.

A kernel of a task of ours is checked on all sizes and kinds of inputs of the
task, its hidden sizes included, once for each of several seeds; then it is
timed beside the naive kernel, the denominator of its speedup. One for a PyTorch
reference is judged by jaxkern.evaluator.pairs, against eager torch.
"""

import os
import pathlib
import shutil
import statistics
from collections.abc import Mapping
from typing import Any, NamedTuple

from jaxkern.data.sources import Candidate
from jaxkern.evaluator import Evaluator, Request, Result
from jaxkern.tasks import bundle
from jaxkern.tasks.task import Task

# Where a candidate can fall, in the order in which survivors are counted.
STAGES = ("compile", "check", "honest", "time")
_LOG = 600
_AT_COMPILE = ("extract", "compile", "link")


class Settings(NamedTuple):
  """What a verdict depends on.

  Attributes:
    device: 'cpu' or 'cuda'.
    sizes: that are timed: 'task' for the task's own, 'large' for those that
      fill a GPU.
    seeds: inputs are drawn anew for each of them.
    repetitions: timed launches, at least 10.
    timed_variants: input sets of a timed size.
    run_timeout_s: for all launches of an evaluation.
  """

  device: str
  sizes: str
  seeds: tuple[int, ...]
  repetitions: int
  timed_variants: int
  run_timeout_s: float


class Bundles(NamedTuple):
  """A task's files: a bundle per seed to check, and one to time."""

  checks: tuple[str, ...]
  timed: str
  facts: Mapping[str, Any]


def prepare(
  task: Task, settings: Settings, directory: str | os.PathLike
) -> Bundles:
  """Writes a task's bundles into `directory`, which is made anew.

  Raises:
    OSError: they cannot be written.
  """
  directory = pathlib.Path(directory)
  shutil.rmtree(directory, ignore_errors=True)
  # Hidden sizes first: kinds of inputs come at the last ones, the task's own.
  checked = task._replace(cases=(*task.hidden, *task.cases), timed=())
  timed = timed_task(task, settings.sizes)
  checks = []
  for k, seed in enumerate(settings.seeds):
    checks.append(str(directory / f"check{k}"))
    bundle.write_bundle(checked, checks[-1], seed)
  bundle.write_bundle(
    timed, directory / "timed", settings.seeds[0], settings.timed_variants
  )
  facts = {
    "checked_sizes": [dict(case) for case in checked.cases],
    "kinds": list(task.kinds),
    "seeds": list(settings.seeds),
    "timed_size": dict(timed.cases[0]),
  }
  return Bundles(tuple(checks), str(directory / "timed"), facts)


def timed_task(task: Task, sizes: str) -> Task:
  """The task at the one size that is timed, with ordinary inputs."""
  case = task.cases[task.timed[-1]]
  if sizes == "large":
    case = task.large[-1] if task.large else {**case, **grown(task)}
  return task._replace(cases=(case,), timed=(0,), kinds=())


# For tasks without sizes that fill a GPU: the primer's, which are plain.
_GROWN = {"n": 1 << 24, "rows": 4096, "cols": 2048}
_GROWN_PRODUCT = {"m": 1024, "k": 1024, "n": 1024}


def grown(task: Task) -> dict[str, int]:
  """Values for the sizes of a task of the primer that keep a GPU busy."""
  names = {a.name for a in task.arguments if a.dtype == "int64"}
  table = _GROWN_PRODUCT if "m" in names else _GROWN
  return {name: table[name] for name in names}


def judge(
  evaluator: Evaluator, bundles: Bundles, kernel: str, settings: Settings
) -> dict:
  """The record of a kernel for a task of ours; `status` infra_error says none.

  Keys: stage (of STAGES, where it fell, or 'done'), status, log, rule,
  raw_status (of a cheat: what a harness without rules would say), device,
  times_us, baseline_us, speedup, speedup_low, speedup_high and the facts.
  """

  def ask(problem: str, repetitions: int = 0, rules: bool = True) -> Result:
    """One evaluation."""
    (result,) = evaluator.evaluate(
      [
        Request(
          problem,
          kernel,
          repetitions,
          run_timeout_s=settings.run_timeout_s,
          rules=rules,
        )
      ]
    )
    return result

  for problem in bundles.checks:
    result = ask(problem)
    if result.status != "ok":
      break
  else:
    result = ask(bundles.timed, settings.repetitions)
  record = _told(result)
  if result.status == "cheating":
    record["raw_status"] = ask(bundles.checks[0], rules=False).status
  return {**record, **bundles.facts} if record["stage"] == "done" else record


def judge_pair(pairs: Any, candidate: Candidate) -> dict:
  """The same for a PyTorch reference; `pairs` is a pairs.Judge."""
  verdict = pairs.judge(candidate.reference, candidate.kernel)
  told = verdict["evidence"].get("result", {})
  status = verdict["status"]
  stage = _stage(status, told.get("stage", ""))
  times = list(verdict["times_us"])
  if stage == "done" and not (times and verdict["speedup"]):
    stage, status = "time", "untimed"
  first = next(iter(verdict["baselines"].values()), {})
  return {
    "stage": stage,
    "status": status,
    "log": verdict["log"][:_LOG],
    "rule": told.get("rule", ""),
    "raw_status": verdict["kernelbench_status"],
    "device": told.get("device") or verdict["device"],
    "times_us": times,
    "baseline_us": first.get("us", 0.0),
    "speedup": verdict["speedup"],
    "speedup_low": 0.0,
    "speedup_high": 0.0,
    "checked_sizes": [],
    "kinds": [],
    "seeds": list(range(verdict["evidence"].get("variants", 0))),
    "timed_size": {},
  }


def _told(result: Result) -> dict:
  stage, status = _stage(result.status, result.stage), result.status
  if stage == "done" and not result.speedup:
    stage, status = "time", "untimed"  # The baseline took no part.
  return {
    "stage": stage,
    "status": status,
    "log": result.log[:_LOG],
    "rule": result.rule,
    "raw_status": status,
    "device": result.device,
    "times_us": list(result.times_us),
    "baseline_us": result.baseline_us,
    "speedup": result.speedup,
    "speedup_low": result.speedup_low,
    "speedup_high": result.speedup_high,
  }


def _stage(status: str, where: str) -> str:
  """Where a candidate of that status fell; 'done' if it did not."""
  if status == "ok":
    return "done"
  if status == "cheating":
    return "honest"
  early = ("extract_error", "compile_error", "link_error")
  if status in early or where in _AT_COMPILE:
    return "compile"
  return "check"


def median(times: list[float]) -> float:
  """Of raw samples; 0 of none."""
  return statistics.median(times) if times else 0.0
