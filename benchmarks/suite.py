"""The suite's naive kernels, right and timed, at sizes that fill a device.

  python benchmarks/suite.py --device=cuda --out=suite.json

A record that is there is continued: tasks that it has are skipped.
"""

import argparse
import json
import pathlib
import time

import record

from jaxkern.evaluator import Evaluator, Request
from jaxkern.tasks import bundle, facts, suite
from jaxkern.tasks.task import with_large_sizes

# Bytes a second and float32 operations a second of an H200's data sheet.
H200 = {"bytes": 4.8e12, "flops": 67e12}


def measure(evaluator: Evaluator, name: str, device: str) -> dict:
  """One task's verdict, its times and what it costs."""
  task = suite.get(name)
  if device == "cuda":
    task = with_large_sizes(task)
  # Two tasks' bundles at once would not fit; ordinary inputs only.
  task = task._replace(kinds=())
  request = Request(task, task.baseline, 10, run_timeout_s=60)
  (result,) = evaluator.evaluate([request])
  size = task.cases[task.timed[-1]]
  flops, traffic = facts.flops(task, size), facts.traffic(task, size)
  floor_us = 1e6 * max(traffic / H200["bytes"], (flops or 0) / H200["flops"])
  us = sorted(result.times_us)[len(result.times_us) // 2 :][:1] or [0.0]
  return {
    "status": result.status,
    "log": result.log[:500],
    "attributes": dict(size),
    "flops": flops,
    "bytes": traffic,
    "median_us": us[0],
    "times_us": result.times_us,
    "of_roofline": floor_us / us[0] if us[0] and device == "cuda" else None,
  }


def main():
  """Measures until the limit and writes after each task."""
  flags = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
  flags.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
  flags.add_argument("--tasks", default="", help="names, with commas")
  flags.add_argument("--limit_s", type=float, default=280)
  flags.add_argument("--out", required=True)
  flags = flags.parse_args()
  bundle.VARIANTS_TIMED = bundle.VARIANTS_CHECKED
  path, began = pathlib.Path(flags.out), time.monotonic()
  tasks = json.loads(path.read_text())["tasks"] if path.exists() else {}
  environment = record.environment()
  names = flags.tasks.split(",") if flags.tasks else suite.names(set="suite")
  with Evaluator(flags.device) as evaluator:
    for name in names:
      if name in tasks and not flags.tasks:
        continue
      if time.monotonic() - began > flags.limit_s:
        break
      tasks[name] = measure(evaluator, name, flags.device)
      print(name, tasks[name]["status"], tasks[name]["median_us"], flush=True)
      record.write(path, {"environment": environment, "tasks": tasks})


if __name__ == "__main__":
  main()
