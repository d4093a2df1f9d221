"""Products of matrices, and all that is one: convolutions, distances, scores.

A Plan says what element (row, c) of the left and (c, col) of the right factor
is, how a pair is accumulated and what is stored at the end. How: tiles in
shared memory, a block of outputs in each thread's registers, loads ahead of
their use, blocks that stay for several tiles.

Templates know {b} (the batch's index), {r}, {c} and {j}; accumulators by name.
"""

import numpy as np

from jaxkern.data.variants import parts
from jaxkern.data.variants.parts import Look, pick
from jaxkern.data.variants.product_tiles import (
  Plan,
  Shape,
  fetch,
  filled,
  put,
  width,
  zero,
)
from jaxkern.tasks.task import Task

# (tile_m, tile_n, tile_k, own_m, own_n), each of 64 to 256 threads.
_BLOCKED = (
  (64, 64, 8, 4, 4),
  (64, 64, 16, 4, 4),
  (64, 64, 16, 8, 4),
  (128, 64, 8, 8, 4),
  (128, 128, 8, 8, 8),
  (128, 128, 16, 8, 8),
  (32, 64, 16, 2, 4),
  (64, 32, 32, 4, 2),
)
_COLUMNS = ((64, 64, 8, 16, 1), (32, 32, 32, 4, 1), (64, 32, 16, 8, 1))
_PLAIN = ((16, 16, 16, 1, 1), (32, 32, 32, 1, 1), (16, 32, 32, 1, 1))


def draw(rng: np.random.Generator, plan: Plan) -> Shape:
  """A random division; registers hold what several products need."""
  kinds = (_BLOCKED, _BLOCKED, _BLOCKED, _COLUMNS, _PLAIN)
  sizes = pick(rng, pick(rng, kinds))
  while len(plan.right) > 1 and sizes[3] * sizes[4] > 32:
    sizes = pick(rng, _BLOCKED)
  shape = Shape(
    *sizes,
    apart=rng.random() < 0.5,
    turned=rng.random() < 0.5,
    ahead=False,
    stay=sizes[0] == 16 or rng.random() < 0.2,  # A grid's y ends at 65535.
  )
  loads = shape.tile_m * shape.tile_k // shape.threads
  return shape._replace(ahead=loads <= 8 and rng.random() < 0.3)


def write(task: Task, plan: Plan, rng: np.random.Generator) -> str:
  """A kernel of a plan in a random way."""
  style = parts.look(rng, pick(rng, ("tiled", "product", task.family)))
  return write_as(task, plan, draw(rng, plan), style)


def write_as(task: Task, plan: Plan, shape: Shape, style: Look) -> str:
  """A kernel of a plan in that way. Pure."""
  body = body_of(plan, shape, style)
  device = parts.kernel(task, style, body, shape.threads)
  return parts.unit(
    task, style, device, launch_of(task, plan, shape, style), note(shape)
  )


def note(shape: Shape) -> str:
  """What a comment says of it."""
  own = shape.own_m * shape.own_n
  text = f"{shape.tile_m} x {shape.tile_n} outputs per block"
  return text + (f", {own} per thread." if own > 1 else ".")


def launch_of(
  task: Task,
  plan: Plan,
  shape: Shape,
  style: Look,
  name: str = "",
  call: str = "",
) -> list[str]:
  """Statements that launch it."""
  across = parts.quotient(style, plan.n, shape.tile_n)
  down = parts.quotient(style, plan.m, shape.tile_m)
  name, call = name or style.name, call or parts.arguments(task)
  lines = [f"int64_t across = {across}, down = {down};"]
  if shape.stay:
    lines += [
      f"int64_t tiles = across * down * {plan.batch};",
      "int blocks = tiles < 528 ? tiles : 528;",
      f"{name}<<<blocks, {shape.threads}, 0, stream>>>({call});",
    ]
  else:
    lines += [
      f"dim3 grid(across, down, {plan.batch});",
      f"{name}<<<grid, {shape.threads}, 0, stream>>>({call});",
    ]
  return lines


def body_of(plan: Plan, shape: Shape, style: Look) -> list[str]:
  """The kernel's statements."""
  s, index = shape, style.index
  count = len(plan.right)
  tile = (
    f"[{s.tile_k}][{s.tile_m + 1}]"
    if s.turned
    else (f"[{s.tile_m}][{s.tile_k + 1}]")
  )
  lines = [f"__shared__ {plan.number} xs{tile};"]
  lines += [
    f"__shared__ {plan.number} ws{k or ''}[{s.tile_k}][{width(plan, s)}];"
    for k in range(count)
  ]
  lines += [
    f"const int tx = threadIdx.x % {s.tile_n // s.own_n};",
    f"const int ty = threadIdx.x / {s.tile_n // s.own_n};",
  ]
  if shape.stay:
    lines += [
      f"const {index} across = {parts.quotient(style, plan.n, s.tile_n)};",
      f"const {index} down = {parts.quotient(style, plan.m, s.tile_m)};",
      f"for ({index} tile = blockIdx.x; tile < across * down * {plan.batch};"
      " tile += gridDim.x) {",
      *(
        [f"const {index} at = tile / (across * down);"]
        if plan.batch != "1"
        else []
      ),
      f"const {index} row0 = tile / across % down * {s.tile_m};",
      f"const {index} col0 = tile % across * {s.tile_n};",
    ]
  else:
    if plan.batch != "1":
      lines.append(f"const {index} at = blockIdx.z;")
    lines += [
      f"const {index} row0 = blockIdx.y * {s.tile_m};",
      f"const {index} col0 = blockIdx.x * {s.tile_n};",
    ]
  lines += _accumulators(plan, s)
  lines += _loop(plan, s, style)
  lines += _stores(plan, s, style)
  return lines + (["}"] if shape.stay else [])


def _accumulators(plan: Plan, s: Shape) -> list[str]:
  names = [f"s{k}" for k in range(len(plan.right))]
  names += [name for name, _ in plan.extra]
  start = f" = {zero(plan)}"
  if s.own_m * s.own_n > 1:
    start = f"[{s.own_m}][{s.own_n}] = {{}}"
  texts = ", ".join(name + start for name in names)
  return [f"{plan.number} {texts};"]


def _loop(plan: Plan, s: Shape, style: Look) -> list[str]:
  """Tiles of terms, one after the other."""
  head = f"for ({style.index} c0 = 0; c0 < {plan.k}; c0 += {s.tile_k}) {{"
  if not s.ahead:
    return [
      head,
      *fetch(plan, s, style, "c0", "tile"),
      "__syncthreads();",
      *_multiply(plan, s),
      "__syncthreads();",
      "}",
    ]
  left = s.tile_m * s.tile_k // s.threads
  right = s.tile_n * s.tile_k // s.threads
  names = "".join(f", nw{k or ''}[{right}]" for k in range(len(plan.right)))
  return [
    f"{plan.number} nx[{left}]{names};",
    *fetch(plan, s, style, "0", "next"),
    head,
    *put(plan, s),
    "__syncthreads();",
    f"if (c0 + {s.tile_k} < {plan.k}) {{",
    *fetch(plan, s, style, f"c0 + {s.tile_k}", "next"),
    "}",
    *_multiply(plan, s),
    "__syncthreads();",
    "}",
  ]


def _row(s: Shape, i: str) -> str:
  """The row within the tile of a thread's i-th output."""
  if s.own_m == 1:
    return "ty"
  return (
    f"ty + {i} * {s.tile_m // s.own_m}"
    if s.apart
    else (f"ty * {s.own_m} + {i}")
  )


def _col(s: Shape, i: str) -> str:
  if s.own_n == 1:
    return "tx"
  return (
    f"tx + {i} * {s.tile_n // s.own_n}"
    if s.apart
    else (f"tx * {s.own_n} + {i}")
  )


def _multiply(plan: Plan, s: Shape) -> list[str]:
  """The tiles' terms."""
  number, count = plan.number, len(plan.right)
  left = f"xs[c][{_row(s, 'i')}]" if s.turned else f"xs[{_row(s, 'i')}][c]"
  head = [
    *(["#pragma unroll"] if s.tile_k <= 16 else []),
    f"for (int c = 0; c < {s.tile_k}; ++c) {{",
  ]
  if s.own_m * s.own_n == 1:
    rights = [f"ws{k or ''}[c][tx]" for k in range(count)]
    return [*head, *_terms(plan, "", left, rights), "}"]
  rights = ", ".join(f"w{k or ''}[{s.own_n}]" for k in range(count))
  lines = [
    *head,
    f"{number} x[{s.own_m}], {rights};",
    "#pragma unroll",
    f"for (int i = 0; i < {s.own_m}; ++i) x[i] = {left};",
    "#pragma unroll",
    f"for (int j = 0; j < {s.own_n}; ++j) {{",
  ]
  for k in range(count):
    lines.append(f"w{k or ''}[j] = ws{k or ''}[c][{_col(s, 'j')}];")
  rights = [f"w{k or ''}[j]" for k in range(count)]
  return [
    *lines,
    "}",
    "#pragma unroll",
    f"for (int i = 0; i < {s.own_m}; ++i) {{",
    "#pragma unroll",
    f"for (int j = 0; j < {s.own_n}; ++j) {{",
    *_terms(plan, "[i][j]", "x[i]", rights),
    "}",
    "}",
    "}",
  ]


def _terms(plan: Plan, at: str, x: str, rights: list[str]) -> list[str]:
  """One term of every accumulator."""
  lines = [
    plan.add.format(s=f"s{k}{at}", x=x, w=w) for k, w in enumerate(rights)
  ]
  return lines + [
    text.format(s=f"{name}{at}", x=x, w=rights[0]) for name, text in plan.extra
  ]


def _stores(plan: Plan, s: Shape, style: Look) -> list[str]:
  names = [f"s{k}" for k in range(len(plan.right))]
  names += [name for name, _ in plan.extra]
  single = s.own_m * s.own_n == 1
  text = filled(plan.store)
  for name in names:
    text = text.replace(f"@{name}", name if single else f"{name}[i][e]")
  inside = [
    f"const {style.index} row = row0 + {_row(s, 'i')};",
    f"const {style.index} col = col0 + {_col(s, 'e')};",
    f"if (row < {plan.m} && col < {plan.n}) {{",
    text,
    "}",
  ]
  if single:
    return inside
  return [
    "#pragma unroll",
    f"for (int i = 0; i < {s.own_m}; ++i) {{",
    "#pragma unroll",
    f"for (int e = 0; e < {s.own_n}; ++e) {{",
    *inside,
    "}",
    "}",
  ]
