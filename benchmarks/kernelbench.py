"""KernelBench on the cpu device: what loads, what runs, what is judged.

Every problem of the levels is prepared at reduced sizes: its reference is run
in the torch worker, and a bundle is made of it. The candidates of
tests/kernelbench are judged against the checkout's own problems, each as it is
and with an error planted. Metrics and JSON files are compared with the
checkout's own functions on random data. Nothing of the checkout is copied.

  python benchmarks/kernelbench.py --kernelbench=DIR
"""

import argparse
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import record

from jaxkern.data import kernelbench_files
from jaxkern.evaluator import Evaluator
from jaxkern.evaluator.pairs import Judge
from jaxkern.rewards import scores
from jaxkern.tasks import kernelbench
from jaxkern.tasks.torch_worker import TorchWorker

ROOT = pathlib.Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests" / "kernelbench"))

import naive_pairs  # noqa: E402


def main():
  """Runs all parts; writes the record after each."""
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("--kernelbench", required=True)
  parser.add_argument("--levels", default="1,2,3,4")
  parser.add_argument(
    "--out", default=ROOT / "benchmarks/results/kernelbench_cpu.json"
  )
  args = parser.parse_args()
  levels = [int(k) for k in args.levels.split(",")]
  problems = kernelbench.problems(args.kernelbench, levels)
  made = {"environment": record.environment(), "budget": kernelbench.BUDGET}
  made["environment"]["command"] = (
    f"python benchmarks/kernelbench.py --kernelbench=DIR --levels={args.levels}"
  )
  made["metrics"] = metrics(args.kernelbench)
  print(json.dumps(made["metrics"]), flush=True)
  with (
    tempfile.TemporaryDirectory() as cache,
    TorchWorker() as worker,
    Evaluator("cpu", cache_dir=cache) as evaluator,
  ):
    judge = Judge(evaluator, worker, f"{cache}/problems", repetitions=6)
    made["candidates"] = judged(judge, problems)
    record.write(args.out, made)
    made["problems"] = prepared(judge, problems)
    made["torch"] = worker.version
  made["loaded"] = {
    f"level{k}": {
      "problems": len(rows),
      "run": sum(row["status"] == "ok" for row in rows),
    }
    for k in levels
    if (rows := [r for r in made["problems"] if r["level"] == k])
  }
  record.write(args.out, made)
  print(json.dumps(made["loaded"]))


ANALYSIS = """
import json, pathlib, runpy, sys, types
checkout, runs, baseline, level = sys.argv[1:]
package = types.ModuleType("kernelbench")  # Without what __init__ asks for.
package.__path__ = [checkout + "/src/kernelbench"]
pydra = types.ModuleType("pydra")  # Reads a command line, which is not used.
pydra.Config, pydra.REQUIRED = object, None
pydra.main = lambda base: lambda function: function
sys.modules.update(kernelbench=package, pydra=pydra)
path = checkout + "/scripts/benchmark_eval_analysis.py"
script = runpy.run_path(path)
made = script["analyze_greedy_eval"](
  "run", "any", "any", int(level), baseline, runs)
print("RESULT" + json.dumps(made))
"""


def metrics(checkout: str) -> dict:
  """Largest differences to the checkout's functions, on random data."""
  path = pathlib.Path(checkout) / "src" / "kernelbench" / "score.py"
  spec = importlib.util.spec_from_file_location("theirs", path)
  theirs = importlib.util.module_from_spec(spec)
  spec.loader.exec_module(theirs)
  rng = np.random.default_rng(0)
  worst = {"fast_p": 0.0, "mean": 0.0, "mean_faster": 0.0}
  for _ in range(1000):
    n = int(rng.integers(1, 100))
    data = (rng.random(n) < 0.6, *rng.uniform(0.1, 9, (2, n)))
    p = float(rng.choice([0, 0.5, 0.8, 1, 1.5, 2]))
    differences = {
      "fast_p": theirs.fastp(*data, n, p) - scores.fast_p(*data, p),
      "mean": theirs.geometric_mean_speed_ratio_correct_only(*data, n)
      - scores.mean_speedup(*data),
      "mean_faster": theirs.geometric_mean_speed_ratio_correct_and_faster_only(
        *data, n
      )
      - scores.mean_speedup(*data, True),
    }
    for name, value in differences.items():
      worst[name] = max(worst[name], abs(float(value)))
  return {"draws": 1000, "largest_difference": worst, **analysis(checkout, rng)}


def analysis(checkout: str, rng: np.random.Generator) -> dict:
  """A run of ours through their script, and what we make of the same."""
  problems = kernelbench.problems(checkout, (1,))
  rows = [
    {
      "task": p.name,
      "level": 1,
      "number": p.number,
      "sample": 0,
      "status": str(rng.choice(["ok", "ok", "wrong_answer", "compile_error"])),
      "times_us": rng.uniform(100, 9000, 5).tolist(),
    }
    for p in problems
  ]
  with tempfile.TemporaryDirectory() as scratch:
    run, baseline = f"{scratch}/run", f"{scratch}/baseline.json"
    kernelbench_files.write_run(run, rows, 1)
    kernelbench_files.write_baseline(
      baseline, {1: {p.name: rng.uniform(100, 9000, 5) for p in problems}}
    )
    done = subprocess.run(
      [sys.executable, "-c", ANALYSIS, checkout, scratch, baseline, "1"],
      capture_output=True,
      text=True,
    )
    read = kernelbench_files.read_run(run, 1, baseline)
  if "RESULT" not in done.stdout:
    return {"analysis_script": done.stderr.strip().splitlines()[-1:]}
  theirs = json.loads(done.stdout.partition("RESULT")[2])
  ours = scores.summarise(read)["1"]["filtered"]
  return {
    "analysis_script": {
      "theirs": theirs["fast_p"],
      "ours": {
        p: ours[f"fast_{float(p):g}"]["value"] for p in theirs["fast_p"]
      },
      "their_geometric_mean": theirs["geo_mean_speedup"],
      "our_geometric_mean": ours["geometric_mean_speedup"]["value"],
      "their_correctness": theirs["correctness_rate"],
      "our_pass@1": ours["pass@1"]["value"],
    }
  }


def prepared(judge: Judge, problems) -> list[dict]:
  """One row per problem: how it ran, at what sizes, or why not."""
  rows = []
  for problem in problems:
    start = time.monotonic()
    row = {"level": problem.level, "name": problem.name, "status": "ok"}
    try:
      made = judge.prepare(problem.source)
      with tempfile.TemporaryDirectory() as scratch:
        kernelbench.write_bundle(made, pathlib.Path(scratch) / "bundle")
      measured, found = made.facts["measure"], made.facts["reference"]
      row |= {
        "flops": measured["full"]["flops"],
        "bytes": measured["full"]["bytes"],
        "reduced_flops": measured["reduced"]["flops"],
        "changed": len(measured["sizes"]),
        "rtol": found["rtol"],
        "atol": found["atol"],
        "tolerance": found["tolerance"],
      }
    except kernelbench.Refused as error:
      row |= {"status": error.status, "why": str(error)[:300]}
    row["seconds"] = round(time.monotonic() - start, 2)
    rows.append(row)
    print(json.dumps(row), flush=True)
  return rows


def judged(judge: Judge, problems) -> dict:
  """The candidates against the checkout's problems of the same numbers."""
  sources = {(p.level, p.number): p for p in problems}
  rows = []
  for pair in naive_pairs.PAIRS:
    problem = sources.get((pair.level, pair.number))
    if problem is None:
      continue
    wrong = pair.candidate.replace(*pair.error)
    for text, expected in ((pair.candidate, "ok"), (wrong, "wrong_answer")):
      verdict = judge.judge(problem.source, text)
      row = {
        "problem": f"level{problem.level}/{problem.name}",
        "expected": expected,
        "status": verdict["status"],
        "kernelbench_status": verdict["kernelbench_status"],
        "log": verdict["log"][:200] if verdict["status"] != expected else "",
      }
      rows.append(row)
      print(json.dumps(row), flush=True)
  right = sum(row["status"] == row["expected"] for row in rows)
  return {"judged": len(rows), "as_expected": right, "rows": rows}


if __name__ == "__main__":
  main()
