"""How good the evaluator's times are: do they repeat, tell apart, and agree?

Kernels of known relative cost (timing_subjects.py), all of one problem:

  repeat  each subject is evaluated 50 times, all in shuffled order: how far its
          medians lie apart
  pairs   20 pairs of kernels, one with 2 % more work: how often their medians
          are in the right order
  agree   medians against what timing_check.cu measures, a program of its own
          that replays CUDA graphs, and against ncu where it is installed

  python benchmarks/timing.py --device=cuda

The cpu device takes `repeat` and `pairs` with small kernels, for a look only.
"""

import argparse
import csv
import io
import pathlib
import random
import shutil
import subprocess
import tempfile
import time

import numpy as np
import record
import timing_subjects as subjects
import tqdm

from jaxkern.evaluator import Evaluator, Request
from jaxkern.tasks import bundle

REPETITIONS = 100
NCU = "ncu --clock-control none --csv --metrics gpu__time_duration.sum".split()


def medians(evaluator: Evaluator, plan: list, seed: int) -> dict:
  """Medians in microseconds by name of a plan of (name, bundle, source)s."""
  order = list(enumerate(plan))
  random.Random(seed).shuffle(order)
  tickets, found = {}, {}
  for number, (name, problem, source) in order:
    # Seeds of their own keep equal requests from being answered by one run.
    request = Request(problem, source, REPETITIONS, seed=1000 * seed + number)
    tickets[evaluator.submit(request)] = name
  with tqdm.tqdm(total=len(plan), unit="run", mininterval=5) as progress:
    while (done := evaluator.next()) is not None:
      ticket, result = done
      name = tickets.pop(ticket)
      if result.status != "ok":
        raise RuntimeError(f"{name}: {result}")
      found.setdefault(name, []).append(float(np.median(result.times_us)))
      progress.update()
  return found


def repeat(evaluator: Evaluator, plan: list, runs: int) -> dict:
  """Spread of each subject's medians, in percent of their median."""
  results = {}
  for name, times in medians(evaluator, plan * runs, seed=1).items():
    center = float(np.median(times))
    low, high = np.percentile(times, [5, 95])
    results[name] = {
      "median_us": center,
      "spread_90_percent": float(high - low) / center * 100,
      "range_percent": float(np.ptp(times)) / center * 100,
      "medians_us": times,
    }
    print(
      f"{name:24} {center:10.2f} us   90 % of {runs} within"
      f" {results[name]['spread_90_percent']:5.2f} %   all within"
      f" {results[name]['range_percent']:5.2f} %"
    )
  return results


def pairs(evaluator: Evaluator, problem: str, device: str, runs: int) -> dict:
  """Shares of the runs in which the kernel with more work took longer."""
  plan = []
  for name, (less, more) in subjects.pairs(device).items():
    plan += [((name, 0), problem, less), ((name, 1), problem, more)]
  found = medians(evaluator, plan * runs, seed=2)
  results = {}
  for name in subjects.pairs(device):
    less, more = (np.array(found[name, i]) for i in (0, 1))
    results[name] = {
      "ordered": float(np.mean(less < more)),
      "ratio": float(np.median(more) / np.median(less)),
      "less_us": less.tolist(),
      "more_us": more.tolist(),
    }
    print(
      f"{name:24} {np.median(less):10.2f} us   ratio"
      f" {results[name]['ratio']:.4f}   ordered {results[name]['ordered']:.0%}"
    )
  return results


def check_program(name: str, task, attributes, source, directory) -> str:
  """Builds timing_check.cu around a candidate; returns the program's path."""
  directory = pathlib.Path(directory) / f"check_{name}"
  directory.mkdir()
  text = source + subjects.call(task, attributes)
  (directory / "candidate.h").write_text(text)
  here = pathlib.Path(__file__).parent
  command = ["nvcc", "-arch=native", "-O3", "-o", str(directory / "check")]
  command += ["-I", str(directory), str(here / "timing_check.cu")]
  subprocess.run(command, check=True, capture_output=True, text=True)
  return str(directory / "check")


def by_ncu(program: str) -> float:
  """Median of the kernels' durations in microseconds."""
  done = subprocess.run(
    [*NCU, program, "10"], check=True, capture_output=True, text=True
  )
  table = done.stdout[done.stdout.index('"ID"') :]
  rows = list(csv.DictReader(io.StringIO(table)))
  scale = {"ns": 1e-3, "us": 1, "ms": 1e3}
  scale |= {"nsecond": 1e-3, "usecond": 1, "msecond": 1e3}
  return float(
    np.median(
      [
        float(row["Metric Value"].replace(",", "")) * scale[row["Metric Unit"]]
        for row in rows
      ]
    )
  )


def agree(repeated: dict, plan: dict, directory: str) -> dict:
  """Independent times of the subjects and how far ours lie from them."""
  results = {}
  for name, (task, attributes, source) in plan.items():
    program = check_program(name, task, attributes, source, directory)
    done = subprocess.run([program], check=True, capture_output=True, text=True)
    ours = repeated[name]["median_us"]
    times = {"graph": float(done.stdout)}
    if shutil.which("ncu"):
      times["ncu"] = by_ncu(program)
    results[name] = {"ours_us": ours} | {
      f"{how}_{unit}": value
      for how, us in times.items()
      for unit, value in (("us", us), ("percent", (ours / us - 1) * 100))
    }
    print(
      f"{name:24} {ours:10.2f} us"
      + "".join(
        f"   {how} {us:10.2f} us ({(ours / us - 1) * 100:+.2f} %)"
        for how, us in times.items()
      )
    )
  return results


def main() -> None:
  """Measures and writes the record."""
  flags = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
  flags.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
  flags.add_argument("--repeat_runs", type=int, default=50)
  flags.add_argument("--pair_runs", type=int, default=10)
  flags.add_argument("--out", help="default: benchmarks/results/")
  flags = flags.parse_args()
  environment = record.environment()
  out = flags.out or (
    pathlib.Path(__file__).parent / f"results/timing_{flags.device}.json"
  )
  chosen = subjects.subjects(flags.device)
  results, seconds = {}, {}
  with (
    tempfile.TemporaryDirectory() as directory,
    Evaluator(flags.device, cache_dir=f"{directory}/cache") as evaluator,
  ):
    problems = {}
    for task, attributes, _ in chosen.values():
      problems[task.name] = f"{directory}/{task.name}"
      bundle.write_bundle(
        task._replace(cases=(attributes,), timed=(0,)), problems[task.name]
      )
    plan = [
      (name, problems[task.name], source)
      for name, (task, _, source) in chosen.items()
    ]

    def step(name: str, function, *arguments) -> dict:
      """Runs a part of the benchmark and notes its seconds."""
      start = time.perf_counter()
      results[name] = function(*arguments)
      seconds[name] = time.perf_counter() - start
      return results[name]

    repeated = step("repeat", repeat, evaluator, plan, flags.repeat_runs)
    problem = problems[subjects.TASK.name]
    step("pairs", pairs, evaluator, problem, flags.device, flags.pair_runs)
    if flags.device == "cuda":
      step("agree", agree, repeated, chosen, directory)
    description = evaluator.describe()
  record.write(
    out,
    {
      "environment": environment,
      "evaluator": description,
      "repetitions": REPETITIONS,
      "seconds": seconds,
      **results,
    },
  )


if __name__ == "__main__":
  main()
