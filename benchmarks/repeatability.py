"""How far two timings of the same kernel differ.

Three kernels of different length, each evaluated RUNS times with 50 timed
launches. A run's time is its median, which is what a speedup is made of. The
record holds all samples; the table tells, per kernel, the samples' 10th to 90th
percentile within a run (the widest) and the medians' range over the runs, both
in percent of the overall median.

  python benchmarks/repeatability.py --device=cuda
"""

import argparse
import pathlib
import tempfile

import numpy as np
import record

from jaxkern.evaluator import Evaluator, Request
from jaxkern.tasks import bundle, suite

RUNS = 10
REPETITIONS = 50
# Microseconds, tens of microseconds and a millisecond on a current GPU.
SIZES = {
  "add": {"n": 1 << 16},
  "softmax": {"rows": 4096, "cols": 1024},
  "matmul": {"m": 1024, "k": 1024, "n": 1024},
}
SMALL = {
  "add": {"n": 1 << 16},
  "softmax": {"rows": 127, "cols": 509},
  "matmul": {"m": 97, "k": 101, "n": 103},
}


def spread(samples: np.ndarray) -> dict:
  """Statistics of samples [RUNS, REPETITIONS] in microseconds."""
  medians = np.median(samples, axis=1)
  center = np.median(medians)
  low, high = np.percentile(samples, [10, 90], axis=1)
  return {
    "median_us": float(center),
    "within_run_percent": float(np.max((high - low) / center) * 100),
    "between_runs_percent": float(np.ptp(medians) / center * 100),
  }


def measure(evaluator: Evaluator, name: str, attributes, directory) -> dict:
  """Evaluates the task's own baseline on one case, RUNS times."""
  task = suite.get(name)._replace(cases=(attributes,), timed=(0,), kinds=())
  problem = pathlib.Path(directory) / name
  bundle.write_bundle(task, problem)
  samples = []
  for run in range(RUNS):
    # A comment makes each run a candidate of its own, built and run anew.
    source = f"// run {run}\n{task.baseline}"
    request = Request(str(problem), source, repetitions=REPETITIONS)
    (result,) = evaluator.evaluate([request])
    if result.status != "ok":
      raise RuntimeError(f"{name}: {result.status}: {result.log}")
    samples.append(list(result.times_us))
  numbers = spread(np.array(samples))
  print(
    f"{name:10} {numbers['median_us']:10.2f} us"
    f"   within a run {numbers['within_run_percent']:6.2f} %"
    f"   between runs {numbers['between_runs_percent']:6.2f} %"
  )
  return {"attributes": attributes, **numbers, "times_us": samples}


def main():
  """Measures and writes the record."""
  flags = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
  flags.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
  flags.add_argument("--out", help="default: benchmarks/results/")
  flags = flags.parse_args()
  environment = record.environment()
  out = flags.out or (
    pathlib.Path(__file__).parent / f"results/repeatability_{flags.device}.json"
  )
  sizes = SIZES if flags.device == "cuda" else SMALL
  with (
    tempfile.TemporaryDirectory() as directory,
    Evaluator(flags.device, cache_dir=f"{directory}/cache") as evaluator,
  ):
    kernels = {
      name: measure(evaluator, name, attributes, directory)
      for name, attributes in sizes.items()
    }
    description = evaluator.describe()
  record.write(
    out,
    {
      "environment": environment,
      "evaluator": description,
      "runs": RUNS,
      "repetitions": REPETITIONS,
      "kernels": kernels,
    },
  )


if __name__ == "__main__":
  main()
