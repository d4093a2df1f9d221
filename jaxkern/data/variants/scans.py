"""Running sums and maxima along rows: lanes scan by shuffles, carry goes on."""

from typing import NamedTuple

import numpy as np

from jaxkern.data.variants import parts
from jaxkern.data.variants.parts import pick
from jaxkern.tasks.task import Task


class Plan(NamedTuple):
  """y[r, c] is the scan of x's row up to c.

  Attributes:
    combine: of {a}, what came before, and {b}.
    start: what changes nothing.
    exclusive: without c itself.
    reverse: from the end.
    number: the C++ type.
  """

  combine: str
  start: str
  exclusive: bool = False
  reverse: bool = False
  number: str = "float"


_SUM = Plan("{a} + {b}", "0.0f")
_PLANS = {
  "cumulative_sum_f32": _SUM,
  "cumulative_sum_i32": _SUM._replace(start="0", number="int"),
  "exclusive_sum_i32": _SUM._replace(start="0", number="int", exclusive=True),
  "reverse_cumulative_sum_f32": _SUM._replace(reverse=True),
  "cumulative_max_f32": Plan("fmaxf({a}, {b})", "-INFINITY"),
}


def of_suite(name: str) -> Plan | None:
  """The plan of a task of the suite, if it is a scan."""
  return _PLANS.get(name)


def write(task: Task, plan: Plan, rng: np.random.Generator) -> str:
  """A kernel of a plan in a random way."""
  style = parts.look(rng, pick(rng, ("scan", "prefix")))
  warps = pick(rng, (1, 4, 8))
  several = pick(rng, (1, 2, 4, 8))
  together = warps > 1 and rng.random() < 0.6  # The block's warps share a row.
  index, number = style.index, plan.number
  threads = 32 * warps
  width = threads if together else 32
  body = [
    "const int lane = threadIdx.x % 32;",
    *(["const int warp = threadIdx.x / 32;"] if warps > 1 else []),
    *([f"__shared__ {number} part[{warps}];"] if together else []),
    f"const {index} row = blockIdx.x;"
    if together or warps == 1
    else f"const {index} row = blockIdx.x * {warps} + warp;",
    *(["if (row >= rows) return;"] if not together and warps > 1 else []),
    f"const int at = {'threadIdx.x' if together else 'lane'};",
    f"{number} carry = {plan.start};",
    f"for ({index} c0 = 0; c0 < cols; c0 += {width * several}) {{",
    *_step(plan, index, several),
    *(_across(plan, warps) if together else _alone(plan)),
    "#pragma unroll",
    f"for (int e = 0; e < {several}; ++e) {{",
    f"const {index} c = c0 + at * {several} + e;",
    f"if (c < cols) y[{_place(plan)}] = {_of(plan, 'before', 'v[e]')};",
    "}",
    "}",
  ]
  device = parts.kernel(task, style, body, threads)
  rows = 1 if together else warps
  blocks = parts.quotient(style, "rows", rows) if rows > 1 else "rows"
  launch = [
    f"int64_t blocks = {blocks};",
    f"{style.name}<<<blocks, {threads}, 0, stream>>>({parts.arguments(task)});",
  ]
  note = "A block per row." if together else "A warp per row."
  return parts.unit(task, style, device, launch, note)


def _step(plan: Plan, index: str, several: int) -> list[str]:
  """A lane's own elements, then those of its warp."""
  number = plan.number
  add = f"sum = {_of(plan, 'sum', 'x_c')};"
  return [
    f"{number} v[{several}];",
    f"{number} sum = {plan.start};",
    "#pragma unroll",
    f"for (int e = 0; e < {several}; ++e) {{",
    f"const {index} c = c0 + at * {several} + e;",
    f"const {number} x_c = c < cols ? x[{_place(plan)}] : {plan.start};",
    *(["v[e] = sum;", add] if plan.exclusive else [add, "v[e] = sum;"]),
    "}",
    f"{number} scanned = sum;",
    "for (int o = 1; o < 32; o *= 2) {",
    f"const {number} other = __shfl_up_sync(0xffffffff, scanned, o);",
    f"if (lane >= o) scanned = {_of(plan, 'other', 'scanned')};",
    "}",
  ]


def _place(plan: Plan) -> str:
  return f"row * cols + {'cols - 1 - c' if plan.reverse else 'c'}"


def _of(plan: Plan, a: str, b: str) -> str:
  return plan.combine.format(a=a, b=b)


def _alone(plan: Plan) -> list[str]:
  """What lies before a lane's elements, in a warp of its own."""
  number = plan.number
  return [
    f"{number} before = __shfl_up_sync(0xffffffff, scanned, 1);",
    f"before = lane == 0 ? carry : {_of(plan, 'carry', 'before')};",
    f"const {number} whole = __shfl_sync(0xffffffff, scanned, 31);",
    f"carry = {_of(plan, 'carry', 'whole')};",
  ]


def _across(plan: Plan, warps: int) -> list[str]:
  """The same where warps of the block come before."""
  number = plan.number
  return [
    "if (lane == 31) part[warp] = scanned;",
    "__syncthreads();",
    f"{number} before = __shfl_up_sync(0xffffffff, scanned, 1);",
    f"if (lane == 0) before = {plan.start};",
    f"{number} ahead = carry;",
    f"for (int w = 0; w < {warps}; ++w) {{",
    f"if (w < warp) ahead = {_of(plan, 'ahead', 'part[w]')};",
    f"carry = {_of(plan, 'carry', 'part[w]')};",
    "}",
    f"before = {_of(plan, 'ahead', 'before')};",
    "__syncthreads();",
  ]
