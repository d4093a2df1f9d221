"""Candidates per second: compiled, run and checked, none seen before.

The candidates are the baselines of all tasks and variants of them with other
names and block sizes, each checked on all of its task's cases, with an empty
cache. The rival in the same run does what a script would: one candidate at a
time, a compiler process, then a fresh process that loads, runs and compares.

  python benchmarks/throughput.py --device=cpu

Shares are of the work: compile_s against run_s, which includes the comparison,
summed over candidates. Waiting (queue_s) is told apart, since all candidates
arrive at once and most of them wait for their turn.
"""

import argparse
import os
import pathlib
import subprocess
import tempfile
import time

import record

from jaxkern.evaluator import Evaluator, Request
from jaxkern.tasks import bundle, suite

COUNT = 129  # one warms up
RIVALS = 16


def candidates(directory: pathlib.Path) -> list[Request]:
  """COUNT distinct requests over bundles written below `directory`."""
  names = suite.names()
  requests = []
  for i in range(COUNT):
    name = names[i % len(names)]
    task = suite.get(name)
    problem = directory / name
    if not problem.exists():
      bundle.write_bundle(task, problem)
    source = task.baseline.replace("kernel", f"kernel_{i}")
    if i >= len(names):
      source = source.replace("256", "128").replace("255", "127")
    requests.append(Request(str(problem), source))
  if len({request.source for request in requests}) != COUNT:
    raise RuntimeError("the candidates are not distinct")
  return requests


def evaluate(evaluator: Evaluator, requests: list[Request]) -> dict:
  """Wall time of all requests at once, and of the same again from the cache."""
  start = time.perf_counter()
  results = evaluator.evaluate(requests)
  seconds = time.perf_counter() - start
  for request, result in zip(requests, results, strict=True):
    if result.status != "ok":
      raise RuntimeError(f"{request.task}: {result.status}: {result.log}")
  again = time.perf_counter()
  hits = evaluator.evaluate(requests)
  again = time.perf_counter() - again
  stages = {
    stage: [getattr(result, stage) for result in results]
    for stage in ("compile_s", "queue_s", "run_s")
  }
  work = sum(stages["compile_s"]) + sum(stages["run_s"])
  return {
    "candidates": len(requests),
    "seconds": seconds,
    "per_second": len(requests) / seconds,
    "share_percent": {
      "compile": 100 * sum(stages["compile_s"]) / work,
      "run_and_check": 100 * sum(stages["run_s"]) / work,
    },
    "mean_s": {
      stage: sum(samples) / len(samples) for stage, samples in stages.items()
    },
    "from_cache_per_second": len(requests) / again,
    "cache_hits": sum(hit.cache_hit for hit in hits),
    "samples": stages,
  }


def rival(device: str, requests: list[Request], directory: str) -> dict:
  """The serial loop's seconds per candidate."""
  samples = []
  for i, request in enumerate(requests):
    source = pathlib.Path(directory) / f"{i}.cu"
    source.write_text(request.source)
    start = time.perf_counter()
    subprocess.run(
      [
        "jaxkern-eval",
        f"--bundle={request.task}",
        f"--device={device}",
        str(source),
      ],
      check=True,
      stdout=subprocess.DEVNULL,
      stderr=subprocess.DEVNULL,
      env={**os.environ, "JAXKERN_CACHE": f"{directory}/rival_cache"},
    )
    samples.append(time.perf_counter() - start)
  return {
    "what": "jaxkern-eval, one process per candidate, one at a time",
    "candidates": len(samples),
    "seconds": sum(samples),
    "per_second": len(samples) / sum(samples),
    "samples": samples,
  }


def main():
  """Measures, prints and writes the record."""
  flags = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
  flags.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
  flags.add_argument("--out", help="default: benchmarks/results/")
  flags = flags.parse_args()
  environment = record.environment()
  cores = len(os.sched_getaffinity(0))
  out = flags.out or (
    pathlib.Path(__file__).parent
    / f"results/throughput_{flags.device}_{cores}cores.json"
  )
  with tempfile.TemporaryDirectory() as directory:
    *requests, warm_up = candidates(pathlib.Path(directory))
    cache = f"{directory}/cache"
    with Evaluator(flags.device, cache_dir=cache) as evaluator:
      # Starts the workers, as they are for all but the first of many batches.
      evaluator.evaluate([warm_up])
      ours = evaluate(evaluator, requests)
      description = evaluator.describe()
    serial = rival(flags.device, requests[:: COUNT // RIVALS], directory)
  ratio = ours["per_second"] / serial["per_second"]
  shares = ", ".join(
    f"{stage} {share:.1f} %" for stage, share in ours["share_percent"].items()
  )
  print(
    f"{flags.device}: {ours['per_second']:.2f} candidates/s ({shares});"
    f" cached {ours['from_cache_per_second']:.0f}/s;"
    f" serial {serial['per_second']:.2f}/s; ratio {ratio:.1f}"
  )
  record.write(
    out,
    {
      "environment": environment,
      "evaluator": description,
      "ours": ours,
      "rival": serial,
      "ratio": ratio,
    },
  )


if __name__ == "__main__":
  main()
