"""KernelBench on the cpu device: what loads, what runs, what is judged.

Every problem of the levels is prepared at reduced sizes: its reference is run in
the torch worker, and a bundle is made of it and read by the evaluator. The
candidates of tests/kernelbench are judged against the checkout's own problems,
each as it is and with an error planted. Metrics and JSON files are compared with
the checkout's own functions on random data. Nothing of the checkout is copied.

  python benchmarks/kernelbench.py --kernelbench=DIR
"""

import argparse
import json
import pathlib
import sys
import tempfile
import time

import record

from jaxkern.evaluator import Evaluator
from jaxkern.evaluator.pairs import Judge
from jaxkern.tasks import kernelbench
from jaxkern.tasks.torch_worker import TorchWorker

ROOT = pathlib.Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests" / "kernelbench"))

import candidates  # noqa: E402


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
  made["environment"]["command"] = "python benchmarks/kernelbench.py"
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
  for pair in candidates.PAIRS:
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
