"""The evaluator over the cuda device; skipped without a GPU."""

import pytest

from jaxkern.evaluator import Evaluator, Request

from .conftest import KERNEL, kernel

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
