"""The same pairs through KernelBench's own harness and ours, on one GPU.

Candidates are those of tests/kernelbench, half of them with an error planted,
at sizes that a second suffices for (the problems' own would take 25 GB each for
some; both harnesses get the same text). Their extensions are built beforehand,
as many at a time as there are cores, for their harness; ours builds what it
judges itself. Times are compared under one protocol, theirs: ModelNew in
torch, means between CUDA events, cache emptied (`protocol_us`); `us` is the
evaluator's, without Python and torch in it.

  python benchmarks/kernelbench_h200.py --kernelbench=DIR --pairs=16
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import record

from jaxkern.evaluator import Evaluator
from jaxkern.evaluator.pairs import Judge
from jaxkern.tasks.torch_worker import TorchWorker

ROOT = pathlib.Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests" / "kernelbench"))

import naive_pairs  # noqa: E402

# What one process of their harness does for one pair; prints one object.
THEIRS = """
import importlib.util, json, os, sys, time, types
checkout, reference, candidate, build = sys.argv[1:]
package = types.ModuleType("kernelbench")
package.__path__ = [checkout + "/src/kernelbench"]
sys.modules["kernelbench"] = package
class Anything(types.ModuleType):  # What their imports want and no pair uses.
  def __getattr__(self, name):
    if name.startswith("__"):
      raise AttributeError(name)
    return lambda *a, **k: None
class BaseModel:
  def __init__(self, **given):
    for name in type(self).__annotations__:
      value = getattr(type(self), name)
      setattr(self, name, given.get(name, {} if value == {} else value))
for name in ("requests", "dotenv", "openai", "litellm", "pydantic", "datasets"):
  if importlib.util.find_spec(name) is None:
    sys.modules[name] = Anything(name)
    if name == "pydantic":
      sys.modules[name].BaseModel = BaseModel
from kernelbench import eval as harness
import torch
start = time.monotonic()
made = harness.eval_kernel_against_ref(
  open(reference).read(), open(candidate).read(), num_correct_trials=5,
  num_perf_trials=100, measure_performance=True, build_dir=build,
  device=torch.device("cuda:0"), check_for_excessive_speedup=False)
print("RESULT" + json.dumps({
  "compiled": made.compiled, "correctness": made.correctness,
  "runtime_ms": made.runtime, "stats": made.runtime_stats,
  "metadata": {k: str(v)[:300] for k, v in made.metadata.items()},
  "seconds": time.monotonic() - start}))
"""
# Their builds, beforehand.
BUILD = """
import os, sys
os.environ["TORCH_EXTENSIONS_DIR"] = sys.argv[2]
os.environ["MAX_JOBS"] = "1"
exec(compile(open(sys.argv[1]).read(), "candidate", "exec"), {})
"""


def main():
  """Builds, judges twice, compares."""
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("--kernelbench", required=True)
  parser.add_argument("--pairs", type=int, default=16)
  parser.add_argument("--rows", type=int, default=64, help="times larger")
  parser.add_argument("--out", required=True)
  args = parser.parse_args()
  made = {"environment": record.environment(), "rows": []}
  with tempfile.TemporaryDirectory() as scratch:
    work = pathlib.Path(scratch)
    pairs = write(work, args.pairs, args.rows)
    with TorchWorker() as worker, Evaluator("cuda") as evaluator:
      judge = Judge(
        evaluator, worker, work / "problems", device="cuda", repetitions=100
      )
      with concurrent.futures.ThreadPoolExecutor(1) as pool:
        building = pool.submit(build, pairs)
        for pair in pairs:
          judge.prepare(pair["reference"].read_text())
        made["build_seconds"] = building.result()
      print("built in", made["build_seconds"], flush=True)
      ours = judged_by_us(pairs, judge)
    for pair, our in zip(pairs, ours, strict=True):
      row = {"pair": pair["name"], "ours": our}
      row["theirs"] = judged_by_them(args.kernelbench, pair)
      compare(row)
      made["rows"].append(row)
      print(json.dumps(row), flush=True)
      record.write(args.out, made)
  rows = made["rows"]
  made["same_verdict"] = sum(row["same_verdict"] for row in rows)
  ratios = [row["ratio"] for row in rows if row["ratio"]]
  made["time_ratios"] = ratios
  made["within_5_percent"] = sum(abs(r - 1) <= 0.05 for r in ratios)
  for side in ("ours", "theirs"):
    made[f"{side}_seconds"] = sum(r[side]["seconds"] for r in rows)
  record.write(args.out, made)
  print({k: v for k, v in made.items() if k not in ("rows", "environment")})


def write(work: pathlib.Path, count: int, rows: int) -> list[dict]:
  """Files of the first pairs, right ones and wrong ones in turn."""
  pairs = []
  for k, pair in enumerate(naive_pairs.PAIRS[:count]):
    text = pair.candidate
    if k % 2:
      text = text.replace(*pair.error)
    folder = work / pair.name
    folder.mkdir()
    reference = pair.reference.replace("rows = 96", f"rows = {96 * rows}")
    reference = reference.replace("M = 72", "M = 1024")
    reference = reference.replace("batch = 64", "batch = 1024")
    (folder / "ref.py").write_text(reference)
    (folder / "cand.py").write_text(text)
    wrong = "_wrong" if k % 2 else ""
    pairs.append(
      {
        "name": pair.name + wrong,
        "reference": folder / "ref.py",
        "candidate": folder / "cand.py",
        "build": folder / "build",
      }
    )
  return pairs


def build(pairs: list[dict]) -> float:
  """All extensions at once, with torch's own headers."""
  start = time.monotonic()

  def one(pair: dict) -> None:
    """In a process of its own; what fails is seen by the harness."""
    pair["build"].mkdir()
    command = [sys.executable, "-c", BUILD]
    subprocess.run(
      [*command, str(pair["candidate"]), str(pair["build"])],
      capture_output=True,
      timeout=300,
    )

  with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    list(pool.map(one, pairs))
  return time.monotonic() - start


def judged_by_us(pairs: list[dict], judge: Judge) -> list[dict]:
  """With verdict, times and seconds from the text to the verdict."""
  rows = []
  for pair in pairs:
    texts = [pair[k].read_text() for k in ("reference", "candidate")]
    start = time.monotonic()
    verdict = judge.judge(*texts)
    seconds = time.monotonic() - start
    same = judge.judge(*texts, road="torch", build=str(pair["build"]))
    rows.append(
      {
        **{k: verdict[k] for k in ("status", "kernelbench_status", "road")},
        "us": verdict["us"],
        "baselines": verdict["baselines"],
        "log": verdict["log"][:300],
        "seconds": seconds,
        "protocol_status": same["kernelbench_status"],
        "protocol_log": same["log"][:300],
        "protocol_us": statistics.fmean(same["times_us"] or [0]),
      }
    )
    print(json.dumps(rows[-1]), flush=True)
  return rows


def judged_by_them(checkout: str, pair: dict) -> dict:
  """Their harness in a process of its own, with what was built."""
  start = time.monotonic()
  done = subprocess.run(
    [
      sys.executable,
      "-c",
      THEIRS,
      checkout,
      str(pair["reference"]),
      str(pair["candidate"]),
      str(pair["build"]),
    ],
    capture_output=True,
    text=True,
    timeout=120,
  )
  seconds = time.monotonic() - start
  if "RESULT" not in done.stdout:
    return {
      "error": done.stderr[-500:],
      "correctness": None,
      "seconds": seconds,
    }
  told = json.loads(done.stdout.partition("RESULT")[2])
  return {**told, "seconds": seconds}


def compare(row: dict) -> None:
  """Verdicts by their tolerance, and mean times."""
  theirs = row["theirs"]
  ours = row["ours"]["kernelbench_status"] == "ok"
  row["same_verdict"] = theirs["correctness"] == ours
  row["ratio"] = 0.0
  if ours and theirs["correctness"] and theirs.get("runtime_ms", 0) > 0:
    row["ratio"] = row["ours"]["protocol_us"] / (1000 * theirs["runtime_ms"])


if __name__ == "__main__":
  main()
