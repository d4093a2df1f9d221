"""Kernels whose cost is known relative to one another, for timing.py.

All compute y = a * x and get there with work that a compiler cannot leave out:
`fma` multiplies by one that only the GPU knows, `traffic` reads and writes its
element again and again.
"""

import numpy as np

from jaxkern.tasks import suite
from jaxkern.tasks.task import Argument, Task, shape_of

_KERNEL = """
__global__ void work(const float* x, float* y, int64_t n, float a) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i >= n) return;
  %(work)s
}
extern "C" int launch(const float* x, float* y, int64_t n, float a,
                      cudaStream_t stream) {
  work<<<(n + %(block)d - 1) / %(block)d, %(block)d, 0, stream>>>(x, y, n, a);
  return cudaGetLastError();
}
"""
_FMA = """float v = a * x[i], one = a / a, zero = a - a;
  for (int r = 0; r < %d; ++r) v = fmaf(v, one, zero);
  y[i] = v;"""
_TRAFFIC = """const volatile float* from = x;
  volatile float* to = y;
  for (int r = 0; r < %d; ++r) to[i] = a * from[i];"""

TASK = Task(
  name="timing_scale",
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
  cases=(),
  timed=(),
  hidden=(),
  make_inputs=lambda rng, attributes: {
    "x": rng.standard_normal(attributes["n"], np.float32)
  },
  reference=lambda inputs, attributes: {
    "y": np.float32(attributes["a"]) * inputs["x"]
  },
  tolerance=lambda attributes: (1e-6, 1e-6),
  baseline=_KERNEL % {"work": "y[i] = a * x[i];", "block": 256},
)


def _fma(rounds: int, block: int) -> str:
  return _KERNEL % {"work": _FMA % rounds, "block": block}


def _traffic(rounds: int, block: int) -> str:
  return _KERNEL % {"work": _TRAFFIC % rounds, "block": block}


def subjects(device: str) -> dict[str, tuple[Task, dict, str]]:
  """Task, attributes and source by name; 4 us to 1 ms on a current GPU."""
  large = device == "cuda"
  scale = {"n": 1 << 22 if large else 1 << 14, "a": 3.0}
  rounds = 1000 if large else 50
  chosen = {
    "scale": (TASK, scale, TASK.baseline),
    "fma": (TASK, scale, _fma(rounds, 256)),
    "traffic": (TASK, scale, _traffic(rounds // 10, 256)),
  }
  sizes = {
    "softmax": {"rows": 4096, "cols": 1024},
    "matmul": {"m": 1024, "k": 1024, "n": 1024},
  }
  if not large:
    sizes = {"softmax": {"rows": 127, "cols": 509}}
  for name, attributes in sizes.items():
    task = suite.get(name)
    chosen[name] = (task, attributes, task.baseline)
  return chosen


def pairs(device: str) -> dict[str, tuple[str, str]]:
  """Twenty pairs of sources, the second with 2 % more rounds of work."""
  found = {}
  few = 1 if device == "cuda" else 8
  for block in (64, 128, 256, 512, 1024):
    for rounds in (1000, 4000):
      less = rounds // few
      found[f"fma_{rounds}_{block}"] = (
        _fma(less, block),
        _fma(less * 51 // 50, block),
      )
    for rounds in (50, 200):
      found[f"traffic_{rounds}_{block}"] = (
        _traffic(rounds, block),
        _traffic(rounds * 51 // 50, block),
      )
  return found


def call(task: Task, attributes: dict) -> str:
  """C++ for timing_check.cu: the arrays' sizes and the call of `launch`."""
  inputs, outputs, values = [], [], []
  for argument in task.arguments:
    if argument.kind == "attribute":
      values.append(str(attributes[argument.name]))
      continue
    if argument.dtype != "float32":
      raise ValueError(f"expected float32 arrays, got {argument.dtype}")
    count = int(np.prod(shape_of(argument, attributes)))
    kind = inputs if argument.kind == "input" else outputs
    values.append(f"{argument.kind}[{len(kind)}]")
    kind.append(str(count))
  return (
    f"const std::vector<size_t> kInputs = {{{', '.join(inputs)}}};\n"
    f"const std::vector<size_t> kOutputs = {{{', '.join(outputs)}}};\n"
    "int Call(const std::vector<float*>& input,\n"
    "         const std::vector<float*>& output, cudaStream_t stream) {\n"
    f"  return launch({', '.join([*values, 'stream'])});\n}}\n"
  )
