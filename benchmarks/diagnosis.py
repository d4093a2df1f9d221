"""What the checker finds: nothing in right kernels, the fault in broken ones.

  python benchmarks/diagnosis.py --styles=8 --mutants=8 --every=1

Right kernels are the conformance kernels and the corpus' styles for every task;
expected values that nobody can compute make the evaluator diagnose them. Broken
ones are the corpus' own mistakes of the kinds that only running finds.
"""

import argparse
import collections
import pathlib
import sys
import tempfile

import numpy as np
import record
import tqdm

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
_CHUNK = 8
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
  "other": "kernel.cu",
}


def spoil(bundle: str | pathlib.Path, case_outputs: str) -> str:
  """Replaces a bundle's expected values by others."""
  for path in pathlib.Path(bundle).glob(case_outputs):
    array = np.load(path)
    np.save(path, np.full_like(array, 77))
  return str(bundle)


def kind(diagnosis: str) -> str:
  """The kind of a finding; 'none' without one."""
  found = (name for name, text in KINDS.items() if text in diagnosis)
  return next(found, "none")


def right_kernels(directory: pathlib.Path, count: int, names: list[str]):
  """(kind, request) for kernels without a fault that are bound to fail."""
  for name in kernels.names():
    bundle = spoil(kernels.write_bundle(name, directory), "y.npy")
    yield "conformance", Request(bundle, kernels.source(name), diagnose=True)
  for name in names:
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
      yield "corpus", Request(str(bundle), source, diagnose=True)


def broken_kernels(directory: pathlib.Path, count: int, names: list[str]):
  """(mistake, request) for mistakes in the tasks' kernels."""
  for name in names:
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


def outcomes(evaluator: Evaluator, requests, right: bool):
  """By kind of request, how many ended how; findings in right ones printed."""
  table = collections.defaultdict(collections.Counter)
  requests = list(requests)
  for start in tqdm.trange(0, len(requests), _CHUNK):
    chunk = requests[start : start + _CHUNK]
    results = evaluator.evaluate([request for _, request in chunk])
    for (name, request), result in zip(chunk, results, strict=True):
      table[name][f"{result.status} {kind(result.diagnosis)}"] += 1
      if right and result.diagnosis:
        tqdm.tqdm.write(f"{result.diagnosis}\n{request.source}")
  return {name: dict(counts.most_common()) for name, counts in table.items()}


def main() -> int:
  """Prints both tables and writes the record; 1 for a false finding."""
  flags = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
  flags.add_argument("--styles", type=int, default=8, help="per task")
  flags.add_argument("--mutants", type=int, default=8, help="tries per mistake")
  flags.add_argument(
    "--every", type=int, default=1, help="of so many tasks one"
  )
  flags.add_argument(
    "--out",
    default=pathlib.Path(__file__).parent / "results/diagnosis.json",
  )
  flags = flags.parse_args()
  tasks = suite.names()[:: flags.every]
  with tempfile.TemporaryDirectory() as directory:
    directory = pathlib.Path(directory)
    right = right_kernels(directory, flags.styles, tasks)
    broken = broken_kernels(directory, flags.mutants, tasks)
    with Evaluator(cache_dir=directory / ".cache") as evaluator:
      description = evaluator.describe().partition("; cache")[0]
      right = outcomes(evaluator, right, right=True)
      print("right kernels", right)
      broken = outcomes(evaluator, broken, right=False)
      print("broken kernels", broken)
  counts = [c for counts in right.values() for c in counts.items()]
  false = sum(n for outcome, n in counts if not outcome.endswith(" none"))
  record.write(
    flags.out,
    {
      "environment": record.environment(),
      "evaluator": description,
      "right_kernels": sum(n for _, n in counts),
      "false_findings": false,
      "broken_kernels": broken,
    },
  )
  return int(false > 0)


if __name__ == "__main__":
  sys.exit(main())
