"""What candidates in torch's form cost to judge: tests/torchform/corpus.

Each is built alone, with an empty cache, and timed; beside it the native
baseline of its task. `headers` is the processor time of g++ for a text of one
line behind our header, behind the C++ library's that torch's own would bring
(`<vector>`, `<string>`, ...), and behind nothing. Ends with one line of JSON,
and with exit code 1 if a candidate is not judged right.

  python benchmarks/torch_form.py --device=cpu
"""

import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile

import record

from jaxkern import _core
from jaxkern.evaluator import Evaluator, Request
from jaxkern.tasks import suite

ROOT = pathlib.Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests" / "torchform"))

import candidates  # noqa: E402

STANDARD = ("vector", "string", "tuple", "optional", "functional", "memory")


def main():
  """Judges, measures, prints."""
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
  parser.add_argument("--repetitions", type=int, default=20)
  args = parser.parse_args()
  rows = judge(args.device, args.repetitions)
  made = {
    "environment": record.environment(),
    "device": rows[0]["device"],
    "right": sum(row["status"] == "ok" for row in rows),
    "candidates": len(rows),
    "compile_s": spread([row["compile_s"] for row in rows]),
    "native_compile_s": spread([row["native_compile_s"] for row in rows]),
    "speedup_median": statistics.median(row["speedup"] for row in rows),
    "headers_cpu_s": headers() if args.device == "cpu" else {},
    "rows": rows,
  }
  print(json.dumps(made))
  if made["right"] < made["candidates"]:
    sys.exit(1)


def judge(device: str, repetitions: int) -> list[dict]:
  """All of the corpus, one after the other."""
  rows = []
  with tempfile.TemporaryDirectory() as cache:
    with Evaluator(device=device, cache_dir=cache) as evaluator:
      for c in candidates.read("corpus"):
        task = suite.get(c.task)
        (native,) = evaluator.evaluate([Request(task, task.baseline)])
        request = Request(task, c.source, repetitions=repetitions)
        (result,) = evaluator.evaluate([request])
        rows.append(
          {
            "name": c.name,
            "task": c.task,
            "status": result.status,
            "log": result.log,
            "form": result.form,
            "device": result.device,
            "compile_s": result.compile_s,
            "native_compile_s": 0 if native.cache_hit else native.compile_s,
            "run_s": result.run_s,
            "speedup": result.speedup,
          }
        )
        print(
          f"{c.name:32} {result.status:13} compile {result.compile_s:.2f} s "
          f"(native {native.compile_s:.2f}), run {result.run_s:.2f} s, "
          f"{result.speedup:.2f} x {result.log[:200]}",
          flush=True,
        )
  return rows


def spread(seconds: list[float]) -> dict:
  """Median, least and most of those above 0, which are no cache hits."""
  measured = [s for s in seconds if s > 0]
  return {
    "median": statistics.median(measured),
    "least": min(measured),
    "most": max(measured),
  }


def headers() -> dict[str, float]:
  """Least of 5, processor seconds of g++ -O2."""
  native = pathlib.Path(_core.__file__).parent / "_native"
  shim = [f"-I{native}/include", "-include", f"{native}/include/cuda_runtime.h"]
  slim = [f"-I{native}/torch", "-include", "torch/extension.h"]
  standard = [f for name in STANDARD for f in ("-include", name)]
  return {
    "nothing": _compile(shim),
    "slim": _compile([*shim, *slim]),
    "standard": _compile([*shim, *standard]),
  }


def _compile(flags: list[str]) -> float:
  command = ["g++", "-std=c++17", "-O2", "-fPIC", "-w", "-x", "c++", *flags]
  times = []
  for _ in range(5):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
      [*command, "-c", "-", "-o", os.devnull], input=b"int one;\n", check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    times.append(
      after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    )
  return min(times)


if __name__ == "__main__":
  main()
