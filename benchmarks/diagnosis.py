"""What the checker finds: nothing in right kernels, the fault in broken ones.

  python benchmarks/diagnosis.py --styles=8 --mutants=8

Right kernels are the conformance kernels and the corpus' styles for every task;
expected values that nobody can compute make the evaluator diagnose them. Broken
ones are the corpus' own mistakes of the kinds that only running finds.
"""

import argparse
import collections
import pathlib
import sys
import tempfile
import time

import numpy as np
import record

from jaxkern.data import kernels as writers
from jaxkern.data import mutations, styles
from jaxkern.evaluator import Evaluator, Request
from jaxkern.tasks import suite
from jaxkern.tasks.bundle import write_bundle

sys.path.insert(
  0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/conformance")
)

import kernels  # noqa: E402

# Mistakes that touch memory they should not, or at the wrong time.
MISTAKES = (
  mutations.missing_barrier,
  mutations.wrong_index,
  mutations.rounded_down_grid,
  mutations.off_by_one,
)
KINDS = {
  "race": "race on",
  "out_of_bounds": "out-of-bounds",
  "write_to_input": ", an input,",
  "uninitialised": "has written yet",
  "barrier": "divergent barrier",
  "misaligned": "misaligned",
  "overflow": "integer overflow",
  "index": "is outside",
  "host": "host code",
}


def spoil(bundle: str | pathlib.Path, case_outputs: str) -> str:
  """Replaces a bundle's expected values by others."""
  for path in pathlib.Path(bundle).glob(case_outputs):
    array = np.load(path)
    np.save(path, np.full_like(array, 77))
  return str(bundle)


def kind(diagnosis: str) -> str:
  """The kind of a finding; 'none' without one."""
  if not diagnosis:
    return "none"
  found = (name for name, text in KINDS.items() if text in diagnosis)
  return next(found, "other")


def right_kernels(directory: pathlib.Path, count: int) -> list[Request]:
  """Requests for kernels without a fault, under names that cannot be right."""
  requests = []
  for name in kernels.names():
    bundle = spoil(kernels.write_bundle(name, directory), "y.npy")
    requests.append(Request(bundle, kernels.source(name), diagnose=True))
  for name in suite.names():
    task, recipe = suite.get(name), suite.recipe(name)
    bundle = directory / f"right-{name}"
    write_bundle(task, bundle)
    spoil(bundle, "case*.y.npy")
    rng = np.random.default_rng(1)
    sources = {
      writers.write(recipe, styles.draw(recipe.family, rng))
      for _ in range(count)
    }
    for source in [task.baseline, *sorted(sources)]:
      requests.append(Request(str(bundle), source, diagnose=True))
  return requests


def broken_kernels(directory: pathlib.Path, count: int):
  """(mistake, request) for mistakes in the training tasks' kernels."""
  for name in suite.names("train"):
    task, recipe = suite.get(name), suite.recipe(name)
    bundle, raced = directory / f"broken-{name}", directory / f"raced-{name}"
    write_bundle(task, bundle)
    write_bundle(task, raced)
    spoil(raced, "case*.y.npy")
    for mistake in MISTAKES:
      rng = np.random.default_rng(2)
      seen = set()
      for _ in range(count):
        source = writers.write(recipe, styles.draw(recipe.family, rng))
        broken = mistake(source, recipe, rng)
        if broken in (None, source) or broken in seen:
          continue
        seen.add(broken)
        # A race may come out right by chance; it is to be found all the same.
        where = raced if mistake is mutations.missing_barrier else bundle
        yield mistake.__name__, Request(str(where), broken, diagnose=True)


def main() -> int:
  """Prints both tables and writes the record; 1 for a false finding."""
  flags = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
  flags.add_argument("--styles", type=int, default=8, help="per task")
  flags.add_argument("--mutants", type=int, default=8, help="tries per mistake")
  flags.add_argument("--out", default="")
  flags = flags.parse_args()
  with tempfile.TemporaryDirectory() as directory:
    directory = pathlib.Path(directory)
    right = right_kernels(directory, flags.styles)
    broken = list(broken_kernels(directory, flags.mutants))
    with Evaluator(cache_dir=directory / ".cache") as evaluator:
      start = time.monotonic()
      right_results = evaluator.evaluate(right)
      right_s = time.monotonic() - start
      broken_results = evaluator.evaluate([request for _, request in broken])
      description = evaluator.describe()
  false = [
    {"source": request.source, "status": r.status, "diagnosis": r.diagnosis}
    for request, r in zip(right, right_results, strict=True)
    if r.diagnosis or r.status not in ("wrong_answer", "nonfinite")
  ]
  print(f"right kernels: {len(right)}, findings: {len(false)}")
  for found in false:
    print(found["status"], found["diagnosis"], found["source"], sep="\n")
  table = collections.defaultdict(collections.Counter)
  for (mistake, _), result in zip(broken, broken_results, strict=True):
    outcome = result.status
    if outcome != "ok":
      outcome += " " + kind(result.diagnosis)
    table[mistake][outcome] += 1
  for mistake, outcomes in table.items():
    print(f"{mistake:24}", dict(outcomes.most_common()))
  if flags.out:
    record.write(
      flags.out,
      {
        "environment": record.environment(),
        "evaluator": description,
        "right_kernels": len(right),
        "false_findings": len(false),
        "seconds_per_right_kernel": round(right_s / len(right), 3),
        "broken_kernels": {m: dict(c) for m, c in table.items()},
      },
    )
  return int(bool(false))


if __name__ == "__main__":
  sys.exit(main())
