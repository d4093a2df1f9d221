"""The cuda device's two roads, judged on a GPU.

    python benchmarks/split_gpu.py --count=60

Every kernel of the conformance suite and of the training corpus is evaluated
twice, with the fast road and with nvcc alone. Status and errors (which are the
outputs' distance to the expected ones, in full precision) must be equal. Prints
the differences, then one line of JSON: the shares, and the median seconds that
one compilation takes on an idle machine.
"""

import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile

from jaxkern.data import corpus
from jaxkern.evaluator import Evaluator, Request
from jaxkern.tasks import suite

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/conformance"))
import kernels  # noqa: E402


def requests(count, bundles):
  """Name -> request, of both corpora."""
  made = {
    name: Request(kernels.write_bundle(name, bundles), kernels.source(name))
    for name in kernels.names()
  }
  for i, proposal in enumerate(corpus.propose(suite.names("train"), 0, count)):
    made[f"{i} {proposal.task}"] = Request(
      suite.get(proposal.task), proposal.source
    )
  return made


def judge(pending, without, alone):
  """All at once, then some one by one for their compile seconds."""
  os.environ["JAXKERN_WITHOUT"] = without
  with tempfile.TemporaryDirectory() as cache:
    with Evaluator(device="cuda", cache_dir=cache) as evaluator:
      results = dict(
        zip(pending, evaluator.evaluate(list(pending.values())), strict=True)
      )
  with tempfile.TemporaryDirectory() as cache:
    with Evaluator(device="cuda", cache_dir=cache) as evaluator:
      single = [evaluator.evaluate([pending[name]])[0] for name in alone]
  return results, [result.compile_s for result in single]


def main():
  """Judges, compares and prints."""
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("--count", type=int, default=60)
  flags = parser.parse_args()
  with tempfile.TemporaryDirectory() as bundles:
    pending = requests(flags.count, pathlib.Path(bundles))
    alone = list(pending)[-16:]
    fast, fast_s = judge(pending, "", alone)
    slow, slow_s = judge(pending, "split", alone)
  different = 0
  for name, result in fast.items():
    pair = [
      (r.status, r.max_abs_error, r.max_rel_error, r.mismatches)
      for r in (result, slow[name])
    ]
    if pair[0] != pair[1]:
      different += 1
      print(f"differs: {name}: {result.road} {pair[0]}, nvcc {pair[1]}")
    if result.road != "split":
      print(f"not split: {name}: {result.road_reason}")
  split = sum(result.road == "split" for result in fast.values())
  print(
    json.dumps(
      {
        "kernels": len(pending),
        "split": split,
        "different": different,
        "ok": sum(result.status == "ok" for result in fast.values()),
        "split_compile_s_first": fast_s[0],
        "split_compile_s_median": statistics.median(fast_s),
        "nvcc_compile_s_median": statistics.median(slow_s),
      }
    )
  )


if __name__ == "__main__":
  main()
