"""Whether experience of one device helps on another (KOPE, 5.7).

python benchmarks/kope_transfer.py --on=cuda --from=cpu --tasks=24

Gathers experience of the tasks on both devices first, one search each, then
searches every task on `--on` once more, each from a copy of: nothing (cold),
the other device's experience (foreign), its own (local), and both. As kope.py,
it goes on where it was stopped, and stops after --seconds.
"""

import argparse
import json
import math
import pathlib
import statistics
import time

import kope
import record

from jaxkern.agent import attempts, graph_files, search
from jaxkern.agent.builtin import Builtin
from jaxkern.agent.graph import Graph
from jaxkern.agent.settings import Budget, Settings
from jaxkern.agent.subject import of_task
from jaxkern.evaluator import Evaluator
from jaxkern.tasks import suite
from jaxkern.tasks.task import with_large_sizes

CONDITIONS = {
  "cold": (),
  "foreign": ("foreign",),
  "local": ("local",),
  "both": ("foreign", "local"),
}


def main():
  """Reads the flags, searches, records."""
  flags = parsed()
  environment = record.environment()
  flags.workdir.mkdir(parents=True, exist_ok=True)
  done_file = flags.workdir / "searches.jsonl"
  done = kope.read(done_file)
  began = time.monotonic()
  tasks = kope.TASKS[: flags.tasks]
  plan = [(what, t) for what in ("foreign", "local") for t in tasks]
  plan += [(f"then {c}", t) for t in tasks for c in CONDITIONS]
  evaluators: dict[str, Evaluator] = {}
  try:
    for key in plan:
      if key in done:
        continue
      if flags.seconds and time.monotonic() - began > flags.seconds:
        print(f"{len(done)} of {len(plan)} searches; the same command goes on")
        return
      device = getattr(flags, "from") if key[0] == "foreign" else flags.on
      if device not in evaluators:
        evaluators[device] = Evaluator(device)
      done[key] = run(flags, evaluators[device], device, *key)
      with open(done_file, "a") as file:
        file.write(json.dumps({"key": key, "search": done[key]}) + "\n")
      print(f"{key[0]:14} {key[1]:32} {done[key]['speedup']:.2f}x", flush=True)
  finally:
    for evaluator in evaluators.values():
      evaluator.close()
  results = summary(done)
  print(json.dumps(results, indent=1))
  record.write(
    flags.out,
    {
      **environment,
      "on": flags.on,
      "from": getattr(flags, "from"),
      "evaluations_per_task": flags.evaluations,
      "summary": results,
      "searches": [{"key": list(k), **v} for k, v in done.items()],
    },
  )


def parsed():
  """The flags."""
  parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
  )
  root = kope.ROOT
  parser.add_argument("--on", default="cuda", choices=["cpu", "cuda"])
  parser.add_argument("--from", default="cpu", choices=["cpu", "cuda"])
  parser.add_argument("--tasks", type=int, default=24)
  parser.add_argument("--evaluations", type=int, default=8)
  parser.add_argument("--repetitions", type=int, default=20)
  parser.add_argument("--seconds", type=float, default=0, help="0: to the end")
  parser.add_argument(
    "--workdir", type=pathlib.Path, default=root / "runs/kope_transfer"
  )
  parser.add_argument(
    "--out",
    type=pathlib.Path,
    default=root / "benchmarks/results/kope_transfer.json",
  )
  return parser.parse_args()


def run(flags, evaluator, device: str, what: str, name: str) -> dict:
  """One search, from the experience that its condition has."""
  task = suite.get(name)
  subject = of_task(with_large_sizes(task) if device == "cuda" else task)
  condition = what.removeprefix("then ")
  path = flags.workdir / f"{condition}.db"
  if what.startswith("then "):
    path = flags.workdir / "one_search.db"
    for old in flags.workdir.glob("one_search.db*"):
      old.unlink()
    with Graph(path) as graph:
      for source in CONDITIONS[condition]:
        with Graph(flags.workdir / f"{source}.db") as other:
          graph_files.merge(graph, other)
  with Graph(path) as graph:
    progress = search.optimise(
      subject,
      Builtin(),
      evaluator,
      graph,
      Settings(f"{what}-{name}", device, repetitions=flags.repetitions),
      Budget(flags.evaluations, roofline=0),
    )
    session = f"{what}-{name}"
    cases = list(graph.select("WHERE session = ?", (session,)))
  best, speedup = progress.best, 1.0
  if best is not None and best.source != subject.start:
    naive, ours = attempts.timed_together(
      evaluator, subject, (subject.start, best.source), flags.repetitions, 3
    )
    speedup = ours / naive if naive else 0.0
  return {
    "speedup": speedup if best else 0.0,
    "tried": [[c.strategy, c.status, c.speedup] for c in cases],
  }


def summary(done: dict) -> dict:
  """By condition: solved, right evaluations, geometric mean."""
  results = {}
  for condition in CONDITIONS:
    mine = [v for k, v in done.items() if k[0] == f"then {condition}"]
    tried = [status == "ok" for one in mine for _, status, _ in one["tried"]]
    speedups = [max(one["speedup"], 1.0) for one in mine]
    results[condition] = {
      "searches": len(mine),
      "solved": sum(s >= kope.SOLVED for s in speedups),
      "right_evaluations": sum(tried) / len(tried),
      "geomean_speedup": math.exp(statistics.fmean(map(math.log, speedups))),
    }
  return results


if __name__ == "__main__":
  main()
