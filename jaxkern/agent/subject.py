"""What is to be made faster: a task, a bundle, or somebody's own kernel."""

import json
import os
import pathlib
import shutil
from typing import NamedTuple

from jaxkern.tasks import facts
from jaxkern.tasks.task import Argument, Task, launch_signature, signature


class Subject(NamedTuple):
  """A kernel to optimise.

  Attributes:
    problem: for a Request: a Task or a bundle's directory.
    name, family, level, dtype, shapes: as a Case's.
    summary: what it computes.
    signature: of `launch`.
    start: the kernel to begin with; '' if there is none.
    flops, traffic: operations and bytes at the timed sizes; 0 if unknown.
  """

  problem: Task | str
  name: str
  family: str
  level: int
  dtype: str
  shapes: str
  summary: str
  signature: str
  start: str
  flops: float = 0.0
  traffic: float = 0.0


def of_task(task: Task, kernel: str = "") -> Subject:
  """A task, begun with its naive kernel, or with one's own.

  One's own kernel takes the naive one's place: speedups are over it.
  """
  if kernel:
    task = task._replace(baseline=kernel)
  sizes = [task.cases[k] for k in task.timed]
  return Subject(
    problem=task,
    name=task.name,
    family=task.family,
    level=task.level,
    dtype=task.arguments[0].dtype,
    shapes=", ".join(map(_words, sizes)),
    summary=task.summary,
    signature=signature(task),
    start=task.baseline,
    flops=sum(facts.flops(task, s) or 0.0 for s in sizes),
    traffic=sum(facts.traffic(task, s) for s in sizes),
  )


def of_bundle(
  directory: str | os.PathLike, kernel: str, scratch: str | os.PathLike
) -> Subject:
  """A problem bundle (docs/bundle.md).

  Args:
    directory: of the bundle.
    kernel: one's own to begin with; '' for the bundle's baseline.
    scratch: where a copy with that kernel as its baseline is put.

  Raises:
    ValueError: no bundle.
  """
  directory = pathlib.Path(directory)
  try:
    problem = json.loads((directory / "problem.json").read_text())
    arguments = tuple(
      Argument(a["name"], a["kind"], a["dtype"], tuple(a["shape"]))
      for a in problem["arguments"]
    )
    timed = [c["attributes"] for c in problem["cases"] if c.get("timed")]
    baseline = problem.get("baseline")
    start = kernel or ((directory / baseline).read_text() if baseline else "")
  except (OSError, KeyError, TypeError, ValueError) as error:
    raise ValueError(
      f"bundle: expected a problem bundle, got {directory} ({error})"
    ) from error
  if kernel:
    directory = _with_baseline(
      directory, problem, kernel, pathlib.Path(scratch)
    )
  return Subject(
    problem=str(directory),
    name=problem["name"],
    family=problem.get("family", "bundle"),
    level=problem.get("level", 0),
    dtype=arguments[0].dtype,
    shapes=", ".join(map(_words, timed)),
    summary=problem.get("summary", problem["name"]),
    signature=launch_signature(arguments),
    start=start,
  )


def _with_baseline(directory, problem, kernel, scratch) -> pathlib.Path:
  """A copy of a bundle whose baseline is another kernel."""
  target = scratch / "bundle"
  shutil.rmtree(target, ignore_errors=True)
  shutil.copytree(directory, target)
  (target / "baseline.cu").write_text(kernel)
  problem = {**problem, "baseline": "baseline.cu"}
  (target / "problem.json").write_text(json.dumps(problem))
  return target


def _words(sizes) -> str:
  return " ".join(f"{name}={value}" for name, value in sizes.items())
