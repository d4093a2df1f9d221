"""What `python -m jaxkern.bin.evaluate` does: one pair, or many kernels."""

import json
import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

from jaxkern.data import kernelbench_files
from jaxkern.data.jsonl import read_lines
from jaxkern.evaluator import Evaluator
from jaxkern.evaluator.pairs import Judge
from jaxkern.rollout import kernelbench_prompts, prompts
from jaxkern.tasks import kernelbench, suite
from jaxkern.tasks.torch_worker import TorchWorker
from jaxkern.training import scoring, writers
from jaxkern.training.scoring import Item, Writer


def pair(
  reference: str | os.PathLike,
  candidate: str | os.PathLike,
  device: str,
  repetitions: int,
  baselines: Sequence[str],
) -> dict:
  """The verdict on one candidate for one reference.

  Raises:
    OSError: a file cannot be read.
    ValueError: there is no torch, or the device cannot be used.
  """
  texts = [pathlib.Path(path).read_text() for path in (reference, candidate)]
  with TorchWorker() as worker, Evaluator(device) as evaluator:
    judge = Judge(
      evaluator,
      worker,
      _cache(),
      device=device,
      repetitions=repetitions,
      baselines=tuple(baselines),
    )
    return judge.judge(*texts)


def select(
  checkout: str | None,
  split: str | None,
  level: int | None,
  numbers: Sequence[int] = (),
  set: str = "primer",
) -> list[Item]:
  """Problems of a checkout, or, without one, tasks of a set or file."""
  if checkout:
    return kernelbench_items(checkout, level, numbers)
  return suite_items(split, level, set)


def suite_items(
  split: str | None, level: int | None, set: str = "primer"
) -> list[Item]:
  """Our own tasks, or those of a file or folder."""
  return [
    Item(task.name, task.level, 0, writers.suite_prompt(task), task)
    for task in suite.select(set, split, level)
  ]


def kernelbench_items(
  checkout: str | os.PathLike, level: int | None, numbers: Sequence[int] = ()
) -> list[Item]:
  """A checkout's problems; of `numbers` only, if there are any."""
  levels = kernelbench.LEVELS if level is None else (level,)
  return [
    Item(
      p.name,
      p.level,
      p.number,
      kernelbench_prompts.one_shot(p.source, checkout),
      p.source,
    )
    for p in kernelbench.problems(checkout, levels)
    if not numbers or p.number in numbers
  ]


def evaluate(
  items: Sequence[Item],
  writer: Writer,
  out: str | os.PathLike,
  *,
  device: str,
  samples: int,
  ks: Sequence[int],
  repetitions: int,
  baselines: Sequence[str] = ("eager",),
  roof: tuple[float, float] | None = None,
  title: str = "evaluation",
  origin: Mapping[str, Any] | None = None,
) -> dict:
  """Writes and judges; see scoring.score.

  `origin` is where the items and the texts come from: with the other arguments
  it makes the settings that a folder is kept to.

  Raises:
    ValueError: there is nothing to judge, `out` has other settings, or roof is
      not two rates.
  """
  if roof and (len(roof) != 2 or min(roof) <= 0):
    raise ValueError(f"--roof: expected FLOP/s,bytes/s above 0, got {roof}")
  if not items:
    raise ValueError("tasks: expected some, none is selected")
  timing = {
    "device": device,
    "repetitions": repetitions,
    "baselines": tuple(baselines),
  }
  with Evaluator(device) as evaluator, TorchWorker() as worker:
    if isinstance(items[0].subject, str):
      pairs = Judge(evaluator, worker, _cache(), **timing)
      judge = scoring.kernelbench_judge(pairs, roof)
    else:
      judge = scoring.suite_judge(evaluator, repetitions)
    settings = {**(origin or {}), **timing, "roof": roof}
    sizes = {"samples": samples, "ks": ks, "title": title}
    return scoring.score(items, writer, judge, out, **sizes, settings=settings)


def rescore(
  results: str | os.PathLike,
  out: str | os.PathLike,
  ks: Sequence[int],
  level: int | None = None,
  baseline: str = "",
) -> dict:
  """Scores and page of results that are there: ours, or KernelBench's.

  Args:
    results: a results.jsonl, or a run's directory of KernelBench's scripts.
    out: where to.
    ks: of pass@k.
    level: of a run of KernelBench's.
    baseline: its file of baselines.

  Raises:
    ValueError: there are no results.
  """
  results = pathlib.Path(results)
  if results.is_dir():
    rows = kernelbench_files.read_run(results, level or 1, baseline)
  else:
    rows = scoring.newest(read_lines(results))
  if not rows:
    raise ValueError(f"--results: expected verdicts, got none in {results}")
  return scoring.finish(rows, out, ks, results.name)


def choose_writer(
  *,
  kernels: str | None,
  endpoint: str | None,
  checkpoint: str | None,
  model: str,
  temperature: float,
  seed: int,
  samples: int,
  python: bool,
) -> Writer:
  """The one that was asked for.

  Raises:
    ValueError: none was, or more than one; or a policy for KernelBench, which
      writes CUDA C++ for tasks of ours.
  """
  if sum(x is not None for x in (kernels, endpoint, checkpoint)) != 1:
    raise ValueError(
      "expected one of --kernels, --endpoint, --checkpoint, --results, or"
      " --reference with --candidate"
    )
  if kernels is not None:
    return writers.folder(kernels)
  if endpoint is not None:
    extract = kernelbench_prompts.extract if python else prompts.extract
    return writers.endpoint(
      endpoint, model, extract=extract, temperature=temperature
    )
  if python:
    raise ValueError("--checkpoint: expected tasks of our own, got KernelBench")
  return writers.policy(
    checkpoint, temperature=temperature, seed=seed, rows=samples
  )


def table(summary: dict) -> str:
  """Scores for people: a row each, a column for each level.

  What cheating would have made of a score follows in a row of its own, where it
  would have made a difference; and so do infra_errors, where there are any.
  """
  rows = [["", *(f"level {k}" if k != "all" else k for k in summary)]]
  for name in next(iter(summary.values()))["filtered"]:
    filtered, raw = (
      [_score(made[side].get(name)) for made in summary.values()]
      for side in ("filtered", "raw")
    )
    rows.append([name, *filtered])
    if raw != filtered:
      rows.append([f"{name} raw", *raw])
  errors = [made["infra_errors"] for made in summary.values()]
  if any(errors):
    rows.append(["infra_errors", *map(str, errors)])
  widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
  return "\n".join(
    "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True))
    for row in rows
  )


def _score(score: dict | None) -> str:
  if score is None:
    return "-"
  low, high = score["interval"]
  return f"{score['value']:.3f} [{low:.3f}, {high:.3f}]"


def to_json(value: dict) -> str:
  """On one line."""
  return json.dumps(value)


def _cache() -> pathlib.Path:
  root = os.environ.get("JAXKERN_CACHE") or "~/.cache/jaxkern"
  return pathlib.Path(root).expanduser() / "kernelbench"
