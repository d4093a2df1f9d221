"""What a very large output costs: y = x + 1, float32, of SIDE x SIDE elements.

The same bundle is given to a right kernel, to one that is timed, to one that is
wrong everywhere and to one that leaves the second half unwritten. The record
holds, for each, the seconds and the peak memory of the evaluator's process and
of its workers, as multiples of one array's size; the evaluator's without what
it had before it read the bundle. `floor` is what must be there at that moment:
inputs and expected outputs of two variants, and one launch's arrays for each
compared launch.

  python benchmarks/large_output.py --device=cuda --side=32768

On cuda a side of 32768 needs 40 GiB of host memory, 9 GiB of GPU memory and
17 GiB below $TMPDIR.
"""

import argparse
import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
import record

from jaxkern.evaluator import Evaluator, Request
from jaxkern.tasks import bundle
from jaxkern.tasks.task import Argument, Task

SIDES = {"cpu": 8192, "cuda": 32768}
TIMEOUT_S = 900
VARIANTS = 2

KERNEL = """\
__global__ void add_one(const float* x, float* y, int64_t count) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < count) y[i] = x[i] + 1.0f;
}
extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  int64_t count = n * n;
  add_one<<<(count + 255) / 256, 256, 0, stream>>>(x, y, count);
  return cudaGetLastError();
}
"""
# What is asked, and what must come of it.
RUNS = {
  "right": (KERNEL, 0, "ok"),
  "timed": (KERNEL + "// timed\n", 10, "ok"),
  "wrong_everywhere": (KERNEL.replace("1.0f", "2.0f"), 0, "wrong_answer"),
  "half_unwritten": (
    KERNEL.replace("i < count)", "i < count / 2)"),
    0,
    "wrong_answer",
  ),
}


def make_task(side: int) -> Task:
  """A task of one case of that size."""
  return Task(
    name=f"add_one_{side}",
    level=1,
    family="elementwise",
    split="test",
    summary="y = x + 1",
    arguments=(
      Argument("x", "input", "float32", ("n", "n")),
      Argument("y", "output", "float32", ("n", "n")),
      Argument("n", "attribute", "int64"),
    ),
    cases=({"n": side},),
    timed=(0,),
    hidden=(),
    make_inputs=lambda rng, attributes: {
      "x": rng.random((attributes["n"],) * 2, np.float32)
    },
    reference=lambda inputs, attributes: {"y": inputs["x"] + np.float32(1)},
    tolerance=lambda attributes: (0.0, 0.0),
    baseline=KERNEL,
  )


def status_of(pid: int | str) -> dict[str, int]:
  """Parent and peak memory in bytes of a process; {} if it is gone."""
  try:
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
  except OSError:
    return {}
  fields = dict(line.split(":\t", 1) for line in text.splitlines())
  peak = int(fields.get("VmHWM", "0").split()[0])  # None when it ends.
  return {"ppid": int(fields["PPid"]), "VmHWM": peak << 10}


@contextlib.contextmanager
def peak_memory():
  """After the block, what it yields holds this process' and workers' peaks."""
  peaks = {"evaluator": 0, "worker": 0}
  done = threading.Event()

  def watch():
    while not done.wait(0.02):
      for pid in workers():
        peaks["worker"] = max(peaks["worker"], status_of(pid).get("VmHWM", 0))

  pathlib.Path("/proc/self/clear_refs").write_text("5")  # VmHWM = VmRSS
  thread = threading.Thread(target=watch)
  thread.start()
  try:
    yield peaks
  finally:
    done.set()
    thread.join()
    peaks["evaluator"] = status_of("self")["VmHWM"]


def resident() -> int:
  """Bytes of memory that this process has now."""
  pages = pathlib.Path("/proc/self/statm").read_text().split()[1]
  return int(pages) * os.sysconf("SC_PAGE_SIZE")


def workers() -> list[str]:
  """The workers of this process."""
  found = []
  for directory in pathlib.Path("/proc").glob("[0-9]*"):
    try:
      name = (directory / "comm").read_text().strip()
    except OSError:
      continue
    if name == "jaxkern-worker":
      if status_of(directory.name).get("ppid") == os.getpid():
        found.append(directory.name)
  return found


def measure(
  evaluator, problem: str, run: str, base: int, array_bytes: int
) -> dict:
  """One candidate's verdict, seconds and memory."""
  source, repetitions, status = RUNS[run]
  request = Request(
    problem, source, repetitions=repetitions, run_timeout_s=TIMEOUT_S
  )
  start = time.perf_counter()
  with peak_memory() as peaks:
    (result,) = evaluator.evaluate([request])
  seconds = time.perf_counter() - start
  if result.status != status:
    raise RuntimeError(f"{run}: expected {status}, got {result}")
  slots = 3 if repetitions else 1  # checked, timed, the baseline's
  measured = {
    "status": result.status,
    "mismatches": result.mismatches,
    "launches_compared": result.launches_compared,
    "seconds": seconds,
    "compile_s": result.compile_s,
    "run_and_check_s": result.run_s,
    "evaluator_peak_arrays": (peaks["evaluator"] - base) / array_bytes,
    "evaluator_floor_arrays": 2 * VARIANTS + 2 * slots,
    "worker_peak_arrays": peaks["worker"] / array_bytes,
  }
  print(
    f"{run:18} {result.status:12} {seconds:7.2f} s   evaluator"
    f" {measured['evaluator_peak_arrays']:5.2f} arrays (floor"
    f" {measured['evaluator_floor_arrays']}), worker"
    f" {measured['worker_peak_arrays']:5.2f}"
  )
  return measured


def memory_for(device: str, array_bytes: int) -> int:
  """`memory_bytes`: on cpu the inputs, results and arrays are in it."""
  if device == "cuda":
    return 0
  cores = os.cpu_count() or 1
  return (2 * VARIANTS + 6) * array_bytes + ((1 + cores) << 28) + (1 << 30)


def main():
  """Measures, prints and writes the record."""
  flags = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
  flags.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
  flags.add_argument("--side", type=int, help="default: 8192, on cuda 32768")
  flags.add_argument("--out", help="default: benchmarks/results/")
  flags.add_argument("--write", help=argparse.SUPPRESS)  # for the child below
  flags = flags.parse_args()
  side = flags.side or SIDES[flags.device]
  if flags.write:
    bundle.MOST_BYTES = 0  # No more than two variants.
    bundle.write_bundle(make_task(side), flags.write)
    return
  environment = record.environment()
  array_bytes = 4 * side * side
  out = flags.out or (
    pathlib.Path(__file__).parent
    / f"results/large_output_{flags.device}_{side}.json"
  )
  with tempfile.TemporaryDirectory() as directory:
    problem = f"{directory}/bundle"
    start = time.perf_counter()
    # In a process of its own, whose memory is not the evaluator's.
    subprocess.run(
      [sys.executable, __file__, f"--side={side}", f"--write={problem}"],
      check=True,
    )
    written_s = time.perf_counter() - start
    with Evaluator(
      flags.device,
      cache_dir=f"{directory}/cache",
      memory_bytes=memory_for(flags.device, array_bytes),
    ) as evaluator:
      base = resident()
      start = time.perf_counter()
      with peak_memory() as peaks:
        evaluator.evaluate([Request(problem, "")])  # reads it, and no more
      read_s = time.perf_counter() - start
      read_peak = (peaks["evaluator"] - base) / array_bytes
      print(
        f"{side} x {side}: {array_bytes >> 20} MiB an array; bundle written in"
        f" {written_s:.1f} s, read in {read_s:.1f} s with"
        f" {read_peak:.2f} arrays (floor {2 * VARIANTS})"
      )
      runs = {
        run: measure(evaluator, problem, run, base, array_bytes) for run in RUNS
      }
      description = evaluator.describe()
  record.write(
    out,
    {
      "environment": environment,
      "evaluator": description,
      "side": side,
      "array_bytes": array_bytes,
      "written_s": written_s,
      "read_s": read_s,
      "read_peak_arrays": read_peak,
      "read_floor_arrays": 2 * VARIANTS,
      "runs": runs,
    },
  )


if __name__ == "__main__":
  main()
