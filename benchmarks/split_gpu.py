"""The cuda device's two roads, judged on a GPU.

    python benchmarks/split_gpu.py --count=20 --output=split_gpu.json

Kernels of the conformance suite, of torch's form and of the training corpus are
evaluated twice, by the fast road and by nvcc alone. Status and errors must be
equal; errors are the outputs' greatest distance to the expected ones, in full
precision. Kernels whose machine code is equal (split_roads.py) need no more.
Prints a line for each kernel, then one line of JSON: the shares, and the
seconds that one compilation takes on an idle machine. No kernel is begun after
`--seconds`.
"""

import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

import record

from jaxkern.data import corpus
from jaxkern.evaluator import Evaluator, Request
from jaxkern.tasks import suite

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/conformance"))
sys.path.insert(0, str(ROOT / "tests/torchform"))
import candidates  # noqa: E402
import kernels  # noqa: E402


def request(task, source):
  """Not timed, and on the same inputs whenever it is evaluated."""
  return Request(task, source, repetitions=0, seed=1)


def requests(count, bundles):
  """Name -> request, of all corpora in turn, at most `count` of each."""
  conformance = [
    (name, request(kernels.write_bundle(name, bundles), kernels.source(name)))
    for name in kernels.names()[:count]
  ]
  torch = [
    (f"torch {c.name}", request(suite.get(c.task), c.source))
    for c in candidates.read("corpus")[:count]
  ]
  training = [
    (f"{i} {p.task}", request(suite.get(p.task), p.source))
    for i, p in enumerate(corpus.propose(suite.names("train"), 0, count))
  ]
  made = {}
  for i in range(count):
    for part in (conformance, torch, training):
      if i < len(part):
        made[part[i][0]] = part[i][1]
  return made


def verdict(result):
  """What both roads must agree on."""
  return (
    result.status,
    result.max_abs_error,
    result.max_rel_error,
    result.mismatches,
  )


def evaluator(without):
  """One that leaves `without` out, with a cache of its own."""
  os.environ["JAXKERN_WITHOUT"] = without
  cache = tempfile.mkdtemp()
  return Evaluator(device="cuda", cache_dir=cache)


def judge(pending, seconds):
  """One by one on both roads, so that compile seconds are an idle machine's."""
  until = time.monotonic() + seconds
  samples = []
  with evaluator("") as fast, evaluator("split") as slow:
    for i, (name, request) in enumerate(pending.items()):
      if time.monotonic() > until:
        print(f"time is over: {len(pending) - i} left out", flush=True)
        break
      pair = [one.evaluate([request])[0] for one in (fast, slow)]
      sample = {
        "name": name,
        "road": pair[0].road,
        "reason": pair[0].road_reason,
        "status": pair[0].status,
        "equal": verdict(pair[0]) == verdict(pair[1]),
        "compile_s": [round(r.compile_s, 4) for r in pair],
      }
      samples.append(sample)
      mark = "  " if sample["equal"] else "!!"
      print(
        f"{mark} {i + 1}/{len(pending)} {name}: {sample['road']} "
        f"{sample['status']} {sample['compile_s']} {sample['reason'][:90]}",
        flush=True,
      )
      if not sample["equal"]:
        print(f"   differs: {[verdict(r) for r in pair]}", flush=True)
  return samples


def main():
  """Judges, compares and prints."""
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("--count", type=int, default=20, help="of each corpus")
  parser.add_argument("--seconds", type=float, default=120)
  parser.add_argument("--output", help="a file for the record")
  flags = parser.parse_args()
  with tempfile.TemporaryDirectory() as bundles:
    pending = requests(flags.count, pathlib.Path(bundles))
    samples = judge(pending, flags.seconds)
  fast = [s for s in samples if s["road"] == "split"]
  summary = {
    "kernels": len(samples),
    "split": len(fast),
    "different": sum(not s["equal"] for s in samples),
    "ok": sum(s["status"] == "ok" for s in samples),
  }
  if fast:
    for i, road in enumerate(("split", "nvcc")):
      # The first candidates make precompiled headers.
      known = [s["compile_s"][i] for s in fast[6:] or fast]
      summary[f"{road}_compile_s_median"] = statistics.median(known)
  if flags.output:
    record.write(
      flags.output,
      {"environment": record.environment(), **summary, "samples": samples},
    )
  print(json.dumps(summary))


if __name__ == "__main__":
  main()
