"""A kernel beside its baselines and the reference as XLA compiles it.

The evaluator times the candidate against `naive` and `vendor` in one worker.
XLA's programs run on streams of its own, which no worker can lend it, so the
jitted reference has a process of its own and takes turns with the worker, under
the same lock on the GPU, with the L2 cache flushed before every call and
float32 products in float32. `over_xla` is the median of the turns' ratios, and
their range. XLA's times are from the profiler: from the start of a call's first
kernel to the end of its last. CUDA events, with which the evaluator measures,
add about a microsecond to that.

  python benchmarks/xla_baseline.py --tasks=matmul,softmax,attention_f16
  python benchmarks/xla_baseline.py --tasks=matmul --candidate=kernel.cu
"""

import argparse
import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import record

from jaxkern.evaluator import Evaluator, Request
from jaxkern.tasks import suite
from jaxkern.tasks.bundle import write_bundle
from jaxkern.tasks.task import Task, with_large_sizes

TURNS = 5
CALLS = 10  # In each turn, of each.
FLUSH_BYTES = 256 << 20  # More than four times the L2 cache of an H200.
INPUT_BYTES = 1 << 30  # Of all draws; two at least.
SIZES = {
  "elementwise": {"n": 1 << 24, "rows": 4096, "cols": 4096},
  "row_reduction": {"rows": 4096, "cols": 4096},
  "row_normalisation": {"rows": 4096, "cols": 4096},
  "matvec": {"rows": 4096, "cols": 4096},
  "transpose": {"rows": 4096, "cols": 4096},
  "matmul": {"m": 2048, "k": 2048, "n": 2048},
}
TASKS = (
  "matmul,matmul_bias_relu,matvec,transpose,transpose_axpy,row_sum,row_max,"
  "row_norm_bias,row_sum_int32,softmax,log_softmax"
)


def at_size(name: str) -> Task:
  """The task with one timed case that fills a GPU."""
  task = suite.get(name)
  if task.large:
    return with_large_sizes(task)._replace(kinds=())
  case = {
    key: SIZES[task.family].get(key, value)
    for key, value in task.cases[-1].items()
  }
  return task._replace(cases=(case,), timed=(0,))


def calls(events) -> list[float]:
  """Microseconds of each call, from its first kernel's start to its last's end.

  Args:
    events: (start_ns, end_ns, is_flush) of what ran on the device; a flush
      comes before every call.
  """
  spans: list[list[float]] = []
  for start, end, is_flush in sorted(events):
    if is_flush:
      spans.append([])
    elif spans:
      spans[-1] += [start, end]
  return [(max(s) - min(s)) / 1e3 for s in spans if s]


def profile(directory: str) -> list[float]:
  """The calls in a trace of the profiler's."""
  from jax.profiler import ProfileData

  (path,) = pathlib.Path(directory).rglob("*.xplane.pb")
  events, seen = [], set()
  # Python 3.12's, about a type of jaxlib's that says no module.
  warnings.filterwarnings("ignore", "builtin type event_stats")
  for plane in ProfileData.from_file(str(path)).planes:
    if not plane.name.startswith("/device:GPU:"):
      continue
    for line in plane.lines:
      if not line.name.startswith("Stream"):
        continue  # The same again, by operation and by module.
      for event in line.events:
        module = str(dict(event.stats).get("hlo_module", ""))
        is_flush = "flush" in module
        events.append((event.start_ns, event.end_ns, is_flush))
        seen.add(f"{event.name} of {module or 'no module'}")
  times = calls(events)
  if len(times) != CALLS:
    raise RuntimeError(
      f"expected {CALLS} calls in the trace, got {len(times)} of"
      f" {sorted(seen)[:20]}"
    )
  return times


def contestant(task: Task):
  """A function that calls the jitted reference so many times.

  Each call is on other inputs than the one before, in the task's own dtypes,
  and finds the L2 cache flushed.
  """
  import jax
  import jax.numpy as jnp

  (case,) = task.cases
  code = compile(task.summary, "<summary>", "exec")
  outputs = [a for a in task.arguments if a.kind == "output"]

  @jax.jit
  def reference(inputs):
    scope = {"jax": jax, "jnp": jnp, "lax": jax.lax, **case, **inputs}
    exec(code, scope)
    return [scope[a.name].astype(a.dtype) for a in outputs]

  @jax.jit
  def flush(block, value):
    return block + value

  first = task.make_inputs(np.random.default_rng(0), case)
  size = sum(x.nbytes for x in first.values())
  draws = max(2, min(6, INPUT_BYTES // max(size, 1)))
  rest = [np.random.default_rng(i) for i in range(1, draws)]
  inputs = jax.device_put(
    [first, *(task.make_inputs(rng, case) for rng in rest)]
  )
  block = jnp.zeros(FLUSH_BYTES // 4, jnp.float32)

  def run(count):
    nonlocal block
    for i in range(count):
      block = flush(block, 1.0)
      last = reference(inputs[i % len(inputs)])
    jax.block_until_ready((block, last))
    return last

  return run


def serve_references():
  """A process that has the GPU: CALLS times of the task of each line of stdin.

  [] for one that cannot be run, with the reason on stderr.
  """
  import jax

  jax.config.update("jax_default_matmul_precision", "highest")
  jax.config.update("jax_numpy_rank_promotion", "allow")
  known, run = "", None
  for line in sys.stdin:
    name, times = line.strip(), []
    try:
      if name != known:
        known, run = "", None  # Its arrays go before others come.
        run = contestant(at_size(name))
        known = name
      run(8)  # A trace needs a warm device.
      with tempfile.TemporaryDirectory() as directory:
        with jax.profiler.trace(directory):
          run(CALLS)
        times = profile(directory)
    except Exception as error:
      print(f"{name}: {error}"[:400], file=sys.stderr, flush=True)
    print(json.dumps(times), flush=True)


@contextlib.contextmanager
def xla():
  """A function that gives (task, device) a turn in a `serve_references`.

  It returns microseconds of the calls, [] if that failed.
  """
  processes: list[subprocess.Popen] = []

  def turn(name: str, device: str) -> list[float]:
    """Under the lock that evaluators take."""
    if not processes or processes[-1].poll() is not None:
      processes.append(_start())
    process = processes[-1]
    digest = hashlib.sha256(device.encode()).hexdigest()[:16]
    with open(f"/tmp/jaxkern-device-{digest}.lock") as lock:
      fcntl.flock(lock, fcntl.LOCK_EX)
      with contextlib.suppress(BrokenPipeError):
        print(name, file=process.stdin, flush=True)
      line = process.stdout.readline()
    return json.loads(line) if line else []

  try:
    yield turn
  finally:
    for process in processes:
      with process:  # Which closes its stdin.
        pass


def _start() -> subprocess.Popen:
  return subprocess.Popen(
    [sys.executable, __file__, "--serve"],
    env={
      **os.environ,
      "JAX_PLATFORMS": "cuda",
      "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    },
    stdin=subprocess.PIPE,
    stdout=subprocess.PIPE,
    text=True,
  )


def measure(evaluator: Evaluator, turn, name: str, source: str | None) -> dict:
  """Times one task's contestants and prints a line."""
  task = at_size(name)
  times, samples, over_xla = [], [], []
  with tempfile.TemporaryDirectory() as directory:
    write_bundle(task, f"{directory}/bundle")
    request = Request(
      f"{directory}/bundle",
      source or f"// {name}\n{task.baseline}",
      repetitions=CALLS,
      run_timeout_s=60,
    )
    for _ in range(TURNS):
      (result,) = evaluator.evaluate([request])
      if result.status != "ok":
        break
      times += result.times_us
      of_xla = turn(name, result.device)
      samples += of_xla
      if of_xla:
        over_xla.append(np.median(of_xla) / np.median(result.times_us))
  us = {
    "candidate": float(np.median(times)) if times else 0.0,
    **{key: value["us"] for key, value in result.baselines.items()},
    "xla": float(np.median(samples)) if samples else 0.0,
  }
  notes = [
    f"{k}: {v['note']}" for k, v in result.baselines.items() if v["note"]
  ]
  if result.status != "ok":
    notes.append(f"{result.status}: {result.log.partition(chr(10))[0]}")
  columns = ("candidate", "naive", "vendor", "xla")
  print(
    f"{name:18}"
    + "".join(f"{us[c]:11.2f}" if us.get(c) else f"{'-':>11}" for c in columns)
    + "".join(f"  [{note}]" for note in notes),
    flush=True,
  )
  return {
    "attributes": task.cases[0],
    "us": us,
    "baselines": result.baselines,
    "clocks": result.clocks,
    "status": result.status,
    "log": result.log,
    "times_us": times,
    "xla_times_us": samples,
    "over_xla": over_xla
    and [float(f(over_xla)) for f in (np.median, np.min, np.max)],
  }


def main():
  """Measures all tasks, prints a table and writes the record."""
  flags = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
  flags.add_argument("--tasks", default=TASKS, help="names, with commas")
  flags.add_argument("--candidate", help="a .cu file; default: the naive one")
  flags.add_argument("--out", help="default: benchmarks/results/")
  flags.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
  flags = flags.parse_args()
  if flags.serve:
    serve_references()
    return
  source = None
  if flags.candidate:
    source = pathlib.Path(flags.candidate).read_text()
  out = flags.out or (
    pathlib.Path(__file__).parent / "results/baselines_cuda.json"
  )
  environment = record.environment()
  header = ("candidate", "naive", "vendor", "xla")
  print(f"{'median us':18}" + "".join(f"{h:>11}" for h in header))
  with (
    tempfile.TemporaryDirectory() as cache,
    Evaluator("cuda", cache_dir=cache) as evaluator,
    xla() as turn,
  ):
    found = {
      "environment": environment,
      "evaluator": evaluator.describe(),
      "tasks": {},
    }
    for name in flags.tasks.split(","):
      found["tasks"][name] = measure(evaluator, turn, name, source)
      record.write(out, found)  # A task takes most of a minute.


if __name__ == "__main__":
  main()
