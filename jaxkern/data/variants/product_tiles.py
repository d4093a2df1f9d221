"""A product's plan and division, and how its tiles come to shared memory."""

from typing import NamedTuple

from jaxkern.data.variants.parts import Look


class Plan(NamedTuple):
  """A product.

  Attributes:
    m, n, k: extents; k is what is summed over.
    left: (r, c) -> an element, of {b}, {r}, {c}; guarded by its extents.
    right: (c, j) likewise; several for several products with one left factor.
    store: statements of {b}, {r}, {j} and the accumulators @s0, @s1, ...
    add: of accumulator {s}, {x} and {w}.
    batch: how many products there are.
    number: 'float' or 'int'.
    extra: further accumulators: (name, statement of {x} and {w}).
    left_by, right_by: the index along which neighbours lie in memory: 'c', or
      'r' and 'j'.
  """

  m: str
  n: str
  k: str
  left: str
  right: tuple[str, ...]
  store: str
  add: str = "{s} += {x} * {w};"
  batch: str = "1"
  number: str = "float"
  extra: tuple[tuple[str, str], ...] = ()
  left_by: str = "c"
  right_by: str = "j"


class Shape(NamedTuple):
  """How it is divided.

  Attributes:
    tile_m, tile_n: outputs of a block.
    tile_k: terms between two barriers.
    own_m, own_n: outputs of a thread, in rows and columns.
    apart: a thread's outputs are as far apart as threads are many, so that
      neighbours store side by side; else they lie together.
    turned: the left tile is kept column by column.
    ahead: the next tile's elements are in registers during this one.
    stay: blocks take tile after tile.
  """

  tile_m: int
  tile_n: int
  tile_k: int
  own_m: int
  own_n: int
  apart: bool
  turned: bool
  ahead: bool
  stay: bool

  @property
  def threads(self) -> int:
    """Of a block."""
    return self.tile_m // self.own_m * (self.tile_n // self.own_n)


def width(plan: Plan, s: Shape) -> int:
  """Of the right tile; one more where columns are written one by one."""
  return s.tile_n + (plan.right_by == "c")


def _left(plan: Plan, s: Shape) -> tuple[str, str]:
  """Row and term, within the tile, of its p-th element."""
  if plan.left_by == "c":
    return f"slot / {s.tile_k}", f"slot % {s.tile_k}"
  return f"slot % {s.tile_m}", f"slot / {s.tile_m}"


def _right(plan: Plan, s: Shape) -> tuple[str, str]:
  """Term and column likewise."""
  if plan.right_by == "j":
    return f"slot / {s.tile_n}", f"slot % {s.tile_n}"
  return f"slot % {s.tile_k}", f"slot / {s.tile_k}"


def _walk(s: Shape, size: int) -> list[str]:
  if size == s.threads:
    return ["{", "const int slot = threadIdx.x;"]
  return [
    "#pragma unroll",
    f"for (int t = 0; t < {size // s.threads}; ++t) {{",
    f"const int slot = t * {s.threads} + threadIdx.x;",
  ]


def _next(name: str, s: Shape, side: int) -> str:
  """A thread's t-th element of the next tile."""
  return f"{name}[{'0' if side * s.tile_k == s.threads else 't'}]"


def _into_left(plan: Plan, s: Shape) -> str:
  r, c = _left(plan, s)
  return f"xs[{c}][{r}]" if s.turned else f"xs[{r}][{c}]"


def fetch(plan: Plan, s: Shape, style: Look, c0: str, to: str) -> list[str]:
  """Elements of the tiles at c0, into shared memory or into registers."""
  index, later = style.index, to == "next"
  r, c = _left(plan, s)
  lines = [
    *_walk(s, s.tile_m * s.tile_k),
    f"const {index} row = row0 + {r}, c = {c0} + {c};",
    f"{_next('nx', s, s.tile_m) if later else _into_left(plan, s)} ="
    f" row < {plan.m} && c < {plan.k} ? {filled(plan.left)} : {zero(plan)};",
    "}",
  ]
  c, j = _right(plan, s)
  lines += [
    *_walk(s, s.tile_n * s.tile_k),
    f"const {index} c = {c0} + {c}, col = col0 + {j};",
  ]
  for k, text in enumerate(plan.right):
    place = (
      _next(f"nw{k or ''}", s, s.tile_n) if later else f"ws{k or ''}[{c}][{j}]"
    )
    lines.append(
      f"{place} = c < {plan.k} && col < {plan.n} ?"
      f" {filled(text)} : {zero(plan)};"
    )
  return [*lines, "}"]


def zero(plan: Plan) -> str:
  """The literal 0 of the plan's type."""
  return "0" if plan.number == "int" else "0.0f"


def put(plan: Plan, s: Shape) -> list[str]:
  """From registers into shared memory."""
  c, j = _right(plan, s)
  lines = [
    *_walk(s, s.tile_m * s.tile_k),
    f"{_into_left(plan, s)} = {_next('nx', s, s.tile_m)};",
    "}",
    *_walk(s, s.tile_n * s.tile_k),
  ]
  for k in range(len(plan.right)):
    place = f"ws{k or ''}[{c}][{j}]"
    lines.append(f"{place} = {_next(f'nw{k or str()}', s, s.tile_n)};")
  return [*lines, "}"]


def filled(template: str) -> str:
  """A template with the names of the kernel's indices."""
  return template.format(b="at", r="row", c="c", j="col")
