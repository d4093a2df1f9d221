"""One small task, and an evaluator on the cpu device with its own cache."""

import numpy as np
import pytest

from jaxkern.evaluator import Evaluator
from jaxkern.tasks.task import Argument, Task

KERNEL = """
__global__ void scale(const float* x, float* y, int64_t n, float a) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i];
}
extern "C" int launch(const float* x, float* y, int64_t n, float a,
                      cudaStream_t stream) {
  scale<<<(n + 63) / 64, 64, 0, stream>>>(x, y, n, a);
  return cudaGetLastError();
}
"""


def kernel(line: str) -> str:
  """KERNEL with another line in place of the one that computes."""
  return KERNEL.replace("if (i < n) y[i] = a * x[i];", line)


def make_task(value: float = 0.5) -> Task:
  """Returns y = a * x for n = 5 and n = 70, a = 3, every x the same."""
  return Task(
    name="scale_test",
    level=1,
    family="elementwise",
    split="train",
    summary="y = a * x",
    arguments=(
      Argument("x", "input", "float32", ("n",)),
      Argument("y", "output", "float32", ("n",)),
      Argument("n", "attribute", "int64"),
      Argument("a", "attribute", "float32"),
    ),
    cases=({"n": 5, "a": 3.0}, {"n": 70, "a": 3.0}),
    timed=(1,),
    hidden=({"n": 7, "a": 2.0},),
    make_inputs=lambda rng, attributes: {
      "x": np.full(attributes["n"], value, np.float32)
    },
    reference=lambda inputs, attributes: {
      "y": np.float32(attributes["a"]) * inputs["x"]
    },
    tolerance=lambda attributes: (1e-6, 1e-6),
    baseline=KERNEL,
  )


@pytest.fixture(scope="session")
def task():
  return make_task()


@pytest.fixture(scope="session")
def cache_dir(tmp_path_factory):
  return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def evaluator(cache_dir):
  with Evaluator(device="cpu", cache_dir=cache_dir) as evaluator:
    yield evaluator
