"""An experience graph of a million cases: how fast it grows and answers.

python benchmarks/kope_graph.py --cases=1000000

Inserts cases in lineages (transactions of 100, then each in its own), with
sources and messages of usual length over 250 tasks in 30 families on two
devices, then retrieves for random tasks with words of a compiler's message.
"""

import argparse
import os
import pathlib
import random
import statistics
import tempfile
import time

import record

from jaxkern.agent.case import Case
from jaxkern.agent.graph import Graph
from jaxkern.agent.retrieval import Query, retrieve

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = "float v = x[i * cols + c]; s += expf(v - m); // {}\n" * 16
FEEDBACK = (
  "kernel.cu:{}: error: identifier 'name{}' is undefined in this scope",
  "case rows={} cols={}: 12 elements differ, the first at 3",
  "divergent barrier at line {} of block {}",
)


def made(rng: random.Random, k: int, prev: str) -> Case:
  """A case as searches make them; one in three failed."""
  task = rng.randrange(250)
  ok = rng.random() < 0.67
  feedback = rng.choice(FEEDBACK)
  return Case(
    task=f"task_{task}_f32",
    family=f"family{task % 30}",
    device=rng.choice(("cpu", "cuda")),
    prev=prev,
    session=f"s{k // 200}",
    step=k % 200,
    strategy=f"lanes:{2 ** rng.randrange(5)}",
    thought="several outputs a thread share what does not depend on them",
    diff=SOURCE[:300],
    source=SOURCE.format(*[k] * 16),
    status="ok" if ok else "wrong_answer",
    feedback=""
    if ok
    else feedback.format(rng.randrange(300), rng.randrange(10000)),
    speedup=rng.lognormvariate(0.2, 0.5) if ok else 0.0,
    confidence=1.0 if ok else 0.2,
  )


def insert(graph: Graph, rng, start: int, count: int, batch: int):
  """Cases per second and per CPU second; lineages go on or are begun."""
  began, cpu = time.perf_counter(), time.process_time()
  recent: list[str] = []
  for at in range(start, start + count, batch):
    with graph.transaction():
      for k in range(at, at + batch):
        prev = rng.choice(recent) if recent and rng.random() < 0.8 else ""
        recent = [*recent[-20:], graph.append(made(rng, k, prev)).id]
  return (
    count / (time.perf_counter() - began),
    count / (time.process_time() - cpu),
  )


def ask(graph: Graph, rng, times: int) -> tuple[list[float], list[float]]:
  """Milliseconds of retrievals: by the clock, and of processor time."""
  spent, worked = [], []
  for _ in range(times):
    task = rng.randrange(250)
    text = rng.choice(FEEDBACK).format(rng.randrange(300), rng.randrange(10000))
    query = Query(f"task_{task}_f32", f"family{task % 30}", "cpu", text)
    began, cpu = time.perf_counter(), time.process_time()
    found = retrieve(graph, query)
    spent.append(1e3 * (time.perf_counter() - began))
    worked.append(1e3 * (time.process_time() - cpu))
    assert found
  return spent, worked


def main():
  """Reads the flags, measures, records."""
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("--cases", type=int, default=1_000_000)
  parser.add_argument("--retrievals", type=int, default=300)
  parser.add_argument(
    "--out",
    type=pathlib.Path,
    default=ROOT / "benchmarks/results/kope_graph.json",
  )
  flags = parser.parse_args()
  environment = record.environment()
  rng = random.Random(0)
  with tempfile.TemporaryDirectory() as directory:
    path = os.path.join(directory, "experience.db")
    with Graph(path) as graph:
      step = flags.cases // 10
      rates = []
      for at in range(0, flags.cases, step):
        rates.append(insert(graph, rng, at, step, 100))
        print(
          "{} cases, {:.0f}/s, {:.0f} per CPU second".format(
            at + step, *rates[-1]
          ),
          flush=True,
        )
      single = insert(graph, rng, flags.cases, 2000, 1)
      print(
        "one a transaction: {:.0f}/s, {:.0f} per CPU second".format(*single)
      )
      spent, worked = ask(graph, rng, flags.retrievals)
    size = os.path.getsize(path)
  record.write(
    flags.out,
    {
      **environment,
      "cases": flags.cases,
      "file_bytes": size,
      **figures(flags.cases, step, rates, single, spent, worked),
    },
  )


def figures(cases, step, rates, single, spent, worked) -> dict:
  """What was measured, said and as it is recorded."""
  times = {
    name: {
      "median": statistics.median(values),
      "p99": sorted(values)[int(0.99 * len(values))],
      "samples": values,
    }
    for name, values in (("clock", spent), ("processor", worked))
  }
  for name, t in times.items():
    print(f"retrieval, ms by {name}: {t['median']:.1f}, p99 {t['p99']:.1f}")
  inserted = {
    name: {
      "transactions_of_100": cases / sum(step / r[k] for r in rates),
      "each_tenth": [r[k] for r in rates],
      "one_a_transaction": single[k],
    }
    for k, name in enumerate(("inserted_per_s", "inserted_per_processor_s"))
  }
  return {**inserted, "retrieval_ms": times}


if __name__ == "__main__":
  main()
