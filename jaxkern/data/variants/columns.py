"""Sums down the columns: a block of threads for a strip of columns.

Neighbouring threads read neighbouring columns; the rows are divided among the
block's other dimension and meet in shared memory.
"""

from typing import NamedTuple

import numpy as np

from jaxkern.data.variants import parts
from jaxkern.data.variants.parts import pick
from jaxkern.tasks.task import Task


class Plan(NamedTuple):
  """What is added up.

  Attributes:
    value: an element of {o} (the outer index), {r} and {c}.
    store: the output's index of {o}, {c}, and the value of s.
    rows, cols, outer: extents.
  """

  value: str
  store: tuple[str, str]
  rows: str = "rows"
  cols: str = "cols"
  outer: str = "1"


_PLANS = {
  "column_sum": Plan("x[{r} * cols + {c}]", ("{c}", "s")),
  "middle_mean": Plan(
    "x[({o} * rows + {r}) * cols + {c}]",
    ("{o} * cols + {c}", "s / rows"),
    outer="outer",
  ),
  "vector_matrix": Plan(
    "x[{r}] * w[{r} * n + {c}]", ("{c}", "s"), rows="k", cols="n"
  ),
}


def of_suite(operation: str) -> Plan | None:
  """The plan of an operation of the suite, if columns are its way."""
  return _PLANS.get(operation)


def write(task: Task, plan: Plan, rng: np.random.Generator) -> str:
  """A kernel of a plan in a random way."""
  style = parts.look(rng, pick(rng, ("column", "strip")))
  wide = pick(rng, (32, 32, 64, 128))
  tall = pick(rng, tuple(t for t in (4, 8, 16, 32) if wide * t <= 1024))
  unroll = pick(rng, (1, 1, 4))
  index = style.index
  types = parts.dtypes(task)
  value = parts.elements(plan.value, types).format(o="o", r="r", c="c")
  at, result = plan.store
  place = at.format(o="o", c="c")
  walk = f"for ({index} r = threadIdx.y; r < {plan.rows}; r += {tall})"
  body = [
    f"__shared__ float part[{tall}][{wide}];",
    f"const {index} c = blockIdx.x * {wide} + threadIdx.x;",
    *([f"const {index} o = blockIdx.y;"] if plan.outer != "1" else []),
    "float s = 0.0f;",
    f"if (c < {plan.cols}) {{",
    *(["#pragma unroll 4"] if unroll == 4 else []),
    f"{walk} s += {value};",
    "}",
    "part[threadIdx.y][threadIdx.x] = s;",
    "__syncthreads();",
    *_meet(rng, tall),
    f"if (threadIdx.y == 0 && c < {plan.cols}) {{",
    "s = part[0][threadIdx.x];",
    f"y[{place}] = {parts.store(types['y'], result)};",
    "}",
  ]
  device = parts.kernel(task, style, body, wide * tall)
  launch = [
    f"dim3 block({wide}, {tall});",
    f"dim3 grid({parts.quotient(style, plan.cols, wide)}, {plan.outer});",
    f"{style.name}<<<grid, block, 0, stream>>>({parts.arguments(task)});",
  ]
  note = f"A strip of {wide} columns per block, {tall} rows at a time."
  return parts.unit(task, style, device, launch, note)


def _meet(rng, tall: int) -> list[str]:
  """Adds the parts up: a tree, or one row of threads."""
  if rng.random() < 0.5:
    return [
      f"for (int h = {tall // 2}; h > 0; h /= 2) {{",
      "if (threadIdx.y < h) {",
      "part[threadIdx.y][threadIdx.x] += part[threadIdx.y + h][threadIdx.x];",
      "}",
      "__syncthreads();",
      "}",
    ]
  return [
    "if (threadIdx.y == 0) {",
    f"for (int k = 1; k < {tall}; ++k) {{",
    "part[0][threadIdx.x] += part[k][threadIdx.x];",
    "}",
    "}",
  ]
