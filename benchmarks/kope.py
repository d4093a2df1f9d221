"""What experience is worth: KOPE's search with its graph, and without.

python benchmarks/kope.py
python benchmarks/kope.py --device=cuda --sizes=large --orders=3 \
  --arms off active everything flat utility --tasks 24 --seconds 270

For every order of the tasks and every arm: two passes over the tasks, each with
a budget of evaluations per task, by the built-in proposer or a checkpoint's
policy. `off` knows nothing but its own search; the other arms share what all
tasks before have left in a graph of their own. In the end the best kernel of
each search is timed beside the naive one once more.

What is done is kept in --workdir: the same command goes on. With --seconds it
stops after that time and the next call continues; only a finished measurement
is written to --out.
"""

import argparse
import json
import math
import pathlib
import random
import re
import statistics
import time

import record

from jaxkern.agent import attempts, limits, search
from jaxkern.agent.builtin import Builtin
from jaxkern.agent.graph import Graph
from jaxkern.agent.settings import Budget, Settings
from jaxkern.agent.subject import of_task
from jaxkern.evaluator import Evaluator
from jaxkern.tasks import suite
from jaxkern.tasks.task import with_large_sizes
from jaxkern.training import proposers

ROOT = pathlib.Path(__file__).resolve().parent.parent
TASKS = (
  "matmul_f32",
  "linear_gelu_f32",
  "gated_linear_f32",
  "lora_linear_f32",
  "matmul_row_max_f32",
  "pairwise_distance_f32",
  "mlp_gelu_f32",
  "mlp_swiglu_f32",
  "rms_norm_linear_bf16",
  "layer_norm_linear_gelu_f32",
  "newton_schulz_f32",
  "int8_matmul_scaled_f32",
  "int4_weight_linear_f32",
  "permute_rows_f16",
  "logsumexp_f32",
  "softcap_softmax_f32",
  "layer_norm_f32",
  "column_sum_f32",
  "swiglu_f32",
  "conv2d_pointwise_f32",
  "cross_entropy_f32",
  "mean_and_variance_f32",
  "attention_f32",
  "causal_softmax_f32",
)
SOLVED = 1.05  # times as fast as the naive kernel
REACHED = 0.9  # of the best speedup any arm found


def main():
  """Reads the flags, searches, records."""
  flags = parsed()
  environment = record.environment()
  flags.workdir.mkdir(parents=True, exist_ok=True)
  done_file = flags.workdir / "searches.jsonl"
  done = read(done_file)
  began = time.monotonic()
  with Evaluator(flags.device) as evaluator:
    with Graph(flags.workdir / "limits.db") as graph:
      known = limits.measure(evaluator, graph, flags.device)
    for key in plan(flags):
      if tuple(key) in done:
        continue
      if flags.seconds and time.monotonic() - began > flags.seconds:
        print(f"{len(done)} searches so far; the same command goes on")
        return
      one = run(flags, evaluator, known, *key)
      done[tuple(key)] = one
      with open(done_file, "a") as file:
        file.write(json.dumps({"key": key, "search": one}) + "\n")
      print(
        f"{'/'.join(map(str, key)):56} {one['speedup']:6.2f}x"
        f" {one['strategy']}",
        flush=True,
      )
    described = re.sub("; cache [^;]*", "", evaluator.describe())
  seconds = time.monotonic() - began
  results = summary(done)
  print(table(results))
  record.write(
    flags.out,
    {
      **environment,
      "evaluator": described,
      "proposer": flags.checkpoint or "builtin",
      "evaluations_per_task": flags.evaluations,
      "sizes": flags.sizes,
      "limits": dict(known),
      "seconds_of_the_last_call": seconds,
      "summary": results,
      "searches": [{"key": list(k), **v} for k, v in done.items()],
    },
  )


def parsed():
  """The flags."""
  parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
  )
  parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
  parser.add_argument("--tasks", type=int, default=14)
  parser.add_argument("--evaluations", type=int, default=10)
  parser.add_argument("--passes", type=int, default=2)
  parser.add_argument("--orders", type=int, default=1)
  parser.add_argument("--arms", nargs="+", default=["off", "active"])
  parser.add_argument("--sizes", default="timed", choices=["timed", "large"])
  parser.add_argument("--repetitions", type=int, default=20)
  parser.add_argument("--checkpoint", default="", help="a run's directory")
  parser.add_argument("--seconds", type=float, default=0, help="0: to the end")
  parser.add_argument(
    "--workdir", type=pathlib.Path, default=ROOT / "runs/kope_benchmark"
  )
  parser.add_argument(
    "--out",
    type=pathlib.Path,
    default=ROOT / "benchmarks/results/kope_cpu_2cores.json",
  )
  return parser.parse_args()


def plan(flags) -> list[list]:
  """(order, arm, pass, task) of every search, arms in turns."""
  keys = []
  for order in range(flags.orders):
    tasks = list(TASKS[: flags.tasks])
    random.Random(order).shuffle(tasks)
    for number in range(flags.passes):
      for task in tasks:
        keys += [[order, arm, number, task] for arm in flags.arms]
  return keys


def read(path: pathlib.Path) -> dict[tuple, dict]:
  """Searches that former calls have finished."""
  if not path.exists():
    return {}
  lines = path.read_text().splitlines()
  return {tuple(o["key"]): o["search"] for o in map(json.loads, lines)}


def run(flags, evaluator, known, order, arm, number, name) -> dict:
  """One search, and its best kernel timed beside the naive one."""
  task = suite.get(name)
  subject = of_task(with_large_sizes(task) if flags.sizes == "large" else task)
  proposer = Builtin()
  if flags.checkpoint:
    proposer = proposers.of_checkpoint(flags.checkpoint, 4)
  path = flags.workdir / f"{arm}-{order}.db"
  remember = arm != "off"
  settings = Settings(
    session=f"{order}-{arm}-{number}-{name}",
    device=flags.device,
    arm=arm if remember else "active",
    parallel=4,
    repetitions=flags.repetitions,
    remember=remember,
    seed=100 * order + number,
  )
  began = time.monotonic()
  with Graph(path) as graph:
    progress = search.optimise(
      subject,
      proposer,
      evaluator,
      graph,
      settings,
      Budget(flags.evaluations, roofline=0),
      device_limits=known,
    )
    cases = list(graph.select("WHERE session = ?", (settings.session,)))
  best = progress.best
  speedup = 1.0
  if best is not None and best.source != subject.start:
    naive, ours = attempts.timed_together(
      evaluator,
      subject,
      (subject.start, best.source),
      flags.repetitions,
      3,
    )
    speedup = ours / naive if naive else 0.0
  return {
    "speedup": speedup if best else 0.0,
    "strategy": best.strategy if best else "",
    "curve": progress.curve,
    "tried": [[c.strategy, c.status, c.speedup] for c in cases],
    "tokens": progress.tokens,
    "retimings": progress.retimings,
    "seconds": time.monotonic() - began,
  }


def summary(done: dict[tuple, dict]) -> dict:
  """By arm and pass: solved, speedup, evaluations until the best was near."""
  tops: dict[str, float] = {}
  for (_, _, _, task), one in done.items():
    tops[task] = max(tops.get(task, 1.0), one["speedup"])
  results = {}
  for group in dict.fromkeys((arm, number) for _, arm, number, _ in done):
    mine = [
      (key[3], one) for key, one in done.items() if (key[1], key[2]) == group
    ]
    speedups = [max(one["speedup"], 1.0) for _, one in mine]
    reached = [until(one, REACHED * tops[task]) for task, one in mine]
    most = max(len(one["tried"]) for _, one in mine)
    results[f"{group[0]}, pass {group[1] + 1}"] = {
      "searches": len(mine),
      "solved": sum(s >= SOLVED for s in speedups),
      "geomean_speedup": math.exp(statistics.fmean(map(math.log, speedups))),
      "reached_90_percent_of_the_best": sum(r is not None for r in reached),
      # A search that never did counts with one more than its budget.
      "mean_evaluations_until_then": statistics.fmean(
        most + 1 if r is None else r for r in reached
      ),
      "failed_evaluations": sum(
        status != "ok" for _, one in mine for _, status, _ in one["tried"]
      ),
      "tokens": sum(one["tokens"] for _, one in mine),
      "seconds": sum(one["seconds"] for _, one in mine),
    }
  return results


def until(one: dict, speedup: float) -> int | None:
  """The evaluation that first was as fast; None if none was."""
  for k, (_, status, seen) in enumerate(one["tried"], 1):
    if status == "ok" and seen >= speedup and one["speedup"] >= speedup:
      return k
  return None


def table(results: dict) -> str:
  """The summary for people."""
  columns = ("solved", "geomean", "near the best", "evaluations till then")
  lines = ["  ".join([f"{'arm':22}", *columns, "tokens"])]
  for name, r in results.items():
    n = r["searches"]
    cells = (
      f"{r['solved']}/{n}",
      f"{r['geomean_speedup']:.2f}",
      f"{r['reached_90_percent_of_the_best']}/{n}",
      f"{r['mean_evaluations_until_then']:.1f}",
    )
    shown = [c.rjust(len(w)) for c, w in zip(cells, columns, strict=True)]
    lines.append("  ".join([f"{name:22}", *shown, str(r["tokens"])]))
  return "\n".join(lines)


if __name__ == "__main__":
  main()
