"""The evaluator over the cuda device; skipped without a GPU."""

import pathlib
import re
import shutil
import sys

import numpy as np
import pytest

from jaxkern.evaluator import Evaluator, Request
from jaxkern.tasks import suite

from .conftest import KERNEL, kernel

sys.path.append(str(pathlib.Path(__file__).parents[1] / "cheats"))
import corpus  # noqa: E402

ILLEGAL = kernel("y[i + (1LL << 40)] = a * x[i];")
ENDLESS = kernel("while (clock64() != 1) {}")


@pytest.fixture(scope="module")
def cuda(tmp_path_factory):
  try:
    evaluator = Evaluator(device="cuda", cache_dir=tmp_path_factory.mktemp("c"))
  except ValueError as error:
    pytest.skip(str(error))
  with evaluator:
    yield evaluator


def judge(evaluator, task, source, **options):
  return evaluator.evaluate([Request(task, source, **options)])[0]


def test_unusable_device_is_one_clear_line(tmp_path):
  try:
    Evaluator(device="cuda", cache_dir=tmp_path).close()
  except ValueError as error:
    assert str(error).count("\n") == 0
    assert str(error).startswith(("device: cannot be used: ", "compiler: "))
  else:
    pytest.skip("there is a GPU")


def test_right_kernel_is_ok_with_its_resources(cuda, task):
  result = judge(cuda, task, KERNEL)
  assert (result.status, result.stage, result.log) == ("ok", "check", "")
  assert result.device.startswith("cuda: ")
  assert 0 < result.resources.registers < 64
  assert result.resources.shared_bytes == 0
  assert result.resources.spill_bytes == 0


def test_timed_kernel_is_as_fast_as_its_baseline(cuda, task):
  result = judge(cuda, task, KERNEL + "// again\n", repetitions=51)
  assert 10 <= len(result.times_us) <= 51
  assert result.launches_compared >= 2 + len(result.times_us)
  assert all(0 < t < 1000 for t in result.times_us)
  assert 0.5 < result.speedup < 2


def test_what_a_candidate_keeps_in_the_cache_is_flushed(cuda):
  """Cheat 28 of the corpus against itself without the wish to persist."""
  cheat = next(
    c for c in corpus.candidates() if c.name == "28_persisting_cache"
  ).source()
  honest = re.sub(r"  cuda(DeviceSet|StreamSet|StreamAttr)[^;]*;\n", "", cheat)
  honest = re.sub(r"  window\.[^;]*;\n", "", honest)
  assert "window" not in honest
  task = corpus.task("softmax")
  results = cuda.evaluate(
    [Request(task, text, repetitions=50) for text in (cheat, honest)]
  )
  assert [result.status for result in results] == ["ok", "ok"]
  times = [float(np.median(result.times_us)) for result in results]
  assert times[0] > 0.95 * times[1]


def test_memory_left_behind_ends_with_its_worker(cuda, task):
  leak = KERNEL.replace(
    "  scale<<<", "  void* kept; cudaMalloc(&kept, 128 << 20);\n  scale<<<"
  )
  before = cuda.stats()["workers_started"]
  assert judge(cuda, task, leak).status == "ok"
  assert judge(cuda, task, KERNEL + "// after a leak\n").status == "ok"
  assert cuda.stats()["workers_started"] > before


def test_clocks_are_read_before_and_after_timing(cuda, task):
  assert judge(cuda, task, KERNEL).clocks is None
  clocks = judge(cuda, task, KERNEL + "// clocks\n", repetitions=10).clocks
  if clocks is None and shutil.which("nvidia-smi") is None:
    pytest.skip("no NVML")
  assert set(clocks) == {"before", "after"}
  for reading in clocks.values():
    assert 100 < reading["sm_mhz"] < 5000
    assert 100 < reading["memory_mhz"] < 50000
    assert 0 < reading["temperature_c"] < 120
    assert isinstance(reading["throttled"], bool)


@pytest.mark.parametrize(
  "name",
  [
    "matmul",
    "matmul_bias_gelu",
    "matvec_bias",
    "transpose",
    "transpose_axpy",
    "row_sum_int32",
    "row_max_bias",
    "row_norm",
    "softmax",
    "log_softmax",
  ],
)
def test_vendor_baseline_is_right_and_timed(cuda, name):
  task = suite.get(name)
  result = judge(
    cuda, task, f"// {name}\n{task.baseline}", repetitions=10, run_timeout_s=60
  )
  assert (result.status, result.log) == ("ok", "")
  assert result.baselines["naive"]["us"] == result.baseline_us
  vendor = result.baselines["vendor"]
  if vendor["note"].startswith("needs "):
    pytest.skip(vendor["note"])
  assert vendor["note"] == ""
  assert 0 < vendor["us"] < 1000
  assert vendor["speedup_low"] <= vendor["speedup"] <= vendor["speedup_high"]


def test_worker_is_kept_after_a_vendor_baseline(cuda):
  task = suite.get("matmul")
  started = []
  for i in range(4):
    source = f"// kept {i}\n{task.baseline}"
    assert judge(cuda, task, source, repetitions=10).status == "ok"
    started.append(cuda.stats()["workers_started"])
  assert started[1] == started[-1]


@pytest.mark.parametrize(
  "source, status, log",
  [
    (
      ILLEGAL,
      "runtime_error",
      "cudaErrorIllegalAddress: an illegal memory access was encountered",
    ),
    (
      KERNEL.replace(", 64, 0, stream", ", 2048, 0, stream"),
      "launch_error",
      "cudaErrorInvalidValue: ",
    ),
    (
      KERNEL.replace("  return cudaGetLastError", "  cudaGetLastError").replace(
        "LastError();",
        "LastError(); return cudaMalloc((void**)&y, 1ULL << 60);",
      ),
      "out_of_memory",
      "cudaErrorMemoryAllocation: ",
    ),
    (kernel("if (i < 4) y[i] = a * x[i];"), "wrong_answer", "never written"),
    (kernel("y[i] = undeclared;"), "compile_error", "kernel.cu(4): error: "),
    (kernel("__trap();"), "runtime_error", "cudaError"),
  ],
)
def test_fault_has_its_status_and_spoils_no_neighbour(
  cuda, task, source, status, log
):
  fault, right = cuda.evaluate(
    [Request(task, source), Request(task, KERNEL + f"// beside {status}\n")]
  )
  assert (fault.status, right.status) == (status, "ok")
  assert log in fault.log
  assert "/tmp" not in fault.log


def test_endless_kernel_times_out_and_the_next_runs(cuda, task):
  result = judge(cuda, task, ENDLESS, run_timeout_s=2)
  assert (result.status, result.stage) == ("timeout", "run")
  assert judge(cuda, task, KERNEL).status == "ok"


# Inline PTX, which the cpu device's checker does not run: compute-sanitizer is
# asked. The kernel's body begins on line 6.
EXAMINED = """
__global__ void kernel(const float* x, float* y, int n) {
  int t = threadIdx.x;
  unsigned lane;
  asm volatile("mov.u32 %%0, %%%%laneid;" : "=r"(lane));
  %s
}
extern "C" int launch(const float* x, float* y, int64_t n, float a,
                      cudaStream_t stream) {
  kernel<<<1, 64, 0, stream>>>(x, y, (int)n);
  return cudaGetLastError();
}
"""


@pytest.mark.parametrize(
  "body, status, diagnosis",
  [
    (
      "if (t <= n) y[t] = 3 * x[t % n];",
      "runtime_error",
      r"kernel\.cu:6: out-of-bounds write of y\[5\] \(y has 5 elements\)"
      r" by thread \(5,0,0\) of block \(0,0,0\), in case n=5",
    ),
    (
      "__shared__ float s[64];\n  s[t] = lane + x[t % n];\n"
      "  y[t % n] = s[63 - t];",
      "wrong_answer",
      r"kernel\.cu:[78]: race on shared memory.* line [78]"
      r".* line [78], no barrier",
    ),
    (
      "if (t < n) y[t] += 3 * x[t];",
      "nonfinite",
      r"kernel\.cu:6: read of y\[\d+\], which nothing has written yet,"
      r" by thread \(\d+,0,0\) of block \(0,0,0\), in case n=",
    ),
  ],
  ids=["out_of_bounds", "race", "uninitialised"],
)
def test_compute_sanitizer_names_the_fault(cuda, task, body, status, diagnosis):
  if "compute-sanitizer" not in cuda.describe():
    pytest.skip("no compute-sanitizer")
  result = judge(cuda, task, EXAMINED % body, run_timeout_s=15, diagnose=True)
  assert result.status == status
  assert re.search(diagnosis, result.diagnosis), result.diagnosis
