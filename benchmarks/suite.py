"""The suite's naive kernels, right and timed, at sizes that fill a device.

  python benchmarks/suite.py --device=cuda --out=suite.json

On cuda beside the jitted reference in the task's own dtypes (xla_baseline.py),
both with their share of the roofline. Inputs and answers of the next tasks are
made by other processes meanwhile. A record that is there is continued: tasks
that it has are skipped.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import itertools
import json
import multiprocessing
import os
import pathlib
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence

import numpy as np
import record
import xla_baseline

from jaxkern.evaluator import Evaluator, Request
from jaxkern.tasks import bundle, facts, suite
from jaxkern.tasks.task import Task, with_large_sizes

# Bytes a second and float32 operations a second of an H200's data sheet.
H200 = {"bytes": 4.8e12, "flops": 67e12}


def at_size(name: str, device: str) -> Task:
  """The task as it is measured there, with ordinary inputs only."""
  task = suite.get(name)
  if device == "cuda":
    task = with_large_sizes(task)
  return task._replace(kinds=())


def write(name: str, device: str, directory: str) -> None:
  """A bundle of few variants, which are large."""
  bundle.VARIANTS_TIMED = bundle.VARIANTS_CHECKED
  bundle.write_bundle(at_size(name, device), directory)


def bundles(names: Sequence[str], device: str) -> Iterator[tuple[str, str]]:
  """Names, each with a directory that lasts until the next is asked for."""
  workers = max(1, len(os.sched_getaffinity(0)) - 2)
  spawn = multiprocessing.get_context("spawn")
  with (
    tempfile.TemporaryDirectory() as scratch,
    concurrent.futures.ProcessPoolExecutor(workers, spawn) as pool,
  ):
    waiting, writing = iter(names), collections.deque()
    while True:
      for name in itertools.islice(waiting, workers + 1 - len(writing)):
        place = f"{scratch}/{name}"
        writing.append((name, place, pool.submit(write, name, device, place)))
      if not writing:
        return
      name, place, written = writing.popleft()
      written.result()
      try:
        yield name, place
      except GeneratorExit:
        pool.shutdown(cancel_futures=True)
        raise
      shutil.rmtree(place)


def measure(evaluator, turn, name: str, directory: str, device: str) -> dict:
  """One task's verdict, its times and what it costs; `turn` is XLA's."""
  task = at_size(name, device)
  request = Request(directory, task.baseline, 10, run_timeout_s=60)
  (result,) = evaluator.evaluate([request])
  of_xla = turn(name, result.device) if turn and result.status == "ok" else []
  size = task.cases[task.timed[-1]]
  flops, traffic = facts.flops(task, size), facts.traffic(task, size)
  us, xla_us = median(result.times_us), median(of_xla)
  return {
    "status": result.status,
    "log": result.log[:500],
    "attributes": dict(size),
    "flops": flops,
    "bytes": traffic,
    "median_us": us,
    "times_us": result.times_us,
    "xla_median_us": xla_us,
    "xla_times_us": of_xla,
    "over_xla": xla_us / us if us and xla_us else None,
    **(shares(flops or 0, traffic, us, xla_us) if device == "cuda" else {}),
  }


def median(times: list[float]) -> float:
  """0 for none."""
  return float(np.median(times)) if times else 0.0


def shares(flops: float, traffic: float, us: float, xla_us: float) -> dict:
  """Of the roofline, that the naive kernel and XLA reach."""
  floor_us = 1e6 * max(traffic / H200["bytes"], flops / H200["flops"])
  return {
    "of_roofline": floor_us / us if us else None,
    "xla_of_roofline": floor_us / xla_us if xla_us else None,
  }


def main():
  """Measures until the limit and writes after each task."""
  flags = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
  flags.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
  flags.add_argument("--tasks", default="", help="names, with commas")
  flags.add_argument("--limit_s", type=float, default=280)
  flags.add_argument("--out", required=True)
  flags = flags.parse_args()
  path, began = pathlib.Path(flags.out), time.monotonic()
  tasks = json.loads(path.read_text())["tasks"] if path.exists() else {}
  environment = record.environment()
  names = flags.tasks.split(",") if flags.tasks else suite.names(set="suite")
  cuda = flags.device == "cuda"
  with (
    Evaluator(flags.device) as evaluator,
    xla_baseline.xla() if cuda else contextlib.nullcontext() as turn,
  ):
    missing = [n for n in names if flags.tasks or n not in tasks]
    for name, directory in bundles(missing, flags.device):
      if time.monotonic() - began > flags.limit_s:
        break
      tasks[name] = measure(evaluator, turn, name, directory, flags.device)
      columns = ("status", "median_us", "xla_median_us")
      print(name, *(tasks[name][c] for c in columns), flush=True)
      record.write(path, {"environment": environment, "tasks": tasks})


if __name__ == "__main__":
  main()
