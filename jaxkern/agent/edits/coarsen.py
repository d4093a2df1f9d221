"""`lanes` and `rows`: a kernel with one output per thread gets several.

lanes  W consecutive outputs per thread
rows   W consecutive outputs of one row, where the count is rows * columns: what
       belongs to the row alone is computed once for all of them
"""

from typing import NamedTuple

from tree_sitter import Node

from jaxkern.agent.edits.lanes import Lanes, NotUnderstood
from jaxkern.agent.edits.syntax import (
  Kernel,
  Launch,
  find,
  kernels,
  launches,
  names,
  parameters,
  parse,
  replaced,
  substitute,
  text,
  walk,
)


class Division(NamedTuple):
  """count = rows * columns, as texts."""

  rows: str
  columns: str


def lanes(source: str, width: int) -> str | None:
  """W outputs per thread; None where that does not apply."""
  return _coarsened(source, width, by_row=False)


def rows(source: str, width: int) -> str | None:
  """W outputs of one row per thread; None where that does not apply."""
  return _coarsened(source, width, by_row=True)


def _coarsened(source: str, width: int, by_row: bool) -> str | None:
  root = parse(source)
  if root is None:
    return None
  edits = []
  for kernel in kernels(root):
    mine = [c for c in launches(root) if c.kernel == kernel.name]
    if len(mine) != 1 or not _plain(kernel, mine[0]):
      continue
    try:
      edits += _edits(source, kernel, mine[0], width, by_row)
    except NotUnderstood:
      continue
  return replaced(source, edits) if edits else None


def _plain(kernel: Kernel, launch: Launch) -> bool:
  """Whether the count can be said where the kernel is launched."""
  given = [name for _, name in parameters(kernel.node)]
  counted = names_of(kernel.count)
  assigned = {
    text(n.child_by_field_name("left"))
    for n in find(kernel.node, "assignment_expression")
  }
  return (
    len(given) == len(launch.arguments)
    and counted <= set(given)
    and not assigned & {kernel.index, *counted}
    and not find(kernel.node, "template_parameter_list")
  )


def names_of(expression: str) -> set[str]:
  """Identifiers in the text of an expression."""
  return names(parse(f"int v = {expression};") or parse("int v;")) - {"v"}


def _edits(source, kernel: Kernel, launch: Launch, width: int, by_row: bool):
  """Of the kernel's body and its launch."""
  if any(name.startswith("lane") for name in names(kernel.node)):
    raise NotUnderstood("names are taken")
  index, kind = kernel.index, kernel.type
  end = kernel.node.child_by_field_name("body").end_byte - 1
  original = source.encode()[kernel.head[1].end_byte : end].decode().strip()
  parts = _by_row(kernel, width) if by_row else _in_line(kernel, width)
  new = f"""{parts.head}
if ({parts.whole}) {{
{parts.body}
}} else {{
for ({kind} {index} = {parts.start}; {index} < {parts.end}; ++{index}) {{
{original}
}}
}}
"""
  given = dict(
    zip(
      [name for _, name in parameters(kernel.node)],
      [a if a.isidentifier() else f"({a})" for a in launch.arguments],
      strict=True,
    )
  )
  block = text(launch.block)
  grid = f"({in_terms_of(parts.threads, given)} + {block} - 1) / {block}"
  return [
    (kernel.head[0].start_byte, end, new),
    (launch.grid.start_byte, launch.grid.end_byte, grid),
  ]


class _Parts(NamedTuple):
  """A coarsened kernel in texts.

  Attributes:
    head: how a thread finds its outputs.
    whole: whether it has all W of them.
    body: for W outputs.
    start, end: indices of those it has, if they are fewer.
    threads: how many there are.
  """

  head: str
  whole: str
  body: str
  start: str
  end: str
  threads: str


def _in_line(kernel: Kernel, width: int) -> _Parts:
  kind, count = kernel.type, kernel.count
  return _Parts(
    f"const {kind} lane_first ="
    f" (blockIdx.x * ({kind})blockDim.x + threadIdx.x) * {width};\n"
    f"if (lane_first >= {count}) return;",
    f"lane_first + {width} <= {count}",
    Lanes(kernel.body, width, {kernel.index: "(lane_first + lane)"}).emit(),
    "lane_first",
    count,
    f"({count} + {width - 1}) / {width}",
  )


def in_terms_of(expression: str, given: dict[str, str]) -> str:
  """An expression of a kernel's parameters in those of its launch."""
  root = parse(f"int v = {expression};")
  value = find(root, "init_declarator")[0].child_by_field_name("value")
  return f"({substitute(value, given)})"


def division_of(kernel: Kernel) -> Division | None:
  """The count's last factor, if the body divides the index by it."""
  root = parse(f"int v = {kernel.count};")
  if root is None:
    return None
  value = find(root, "init_declarator")[0].child_by_field_name("value")
  operator = value.child_by_field_name("operator")
  if value.type != "binary_expression" or operator.type != "*":
    return None
  left, right = (text(value.child_by_field_name(s)) for s in ("left", "right"))
  wanted = {f"{kernel.index} % {right}", f"{kernel.index} / {right}"}
  used = {text(n) for s in kernel.body for n in walk(s)}
  return Division(left, right) if wanted & used else None


def _by_row(kernel: Kernel, width: int) -> _Parts:
  division = division_of(kernel)
  if division is None:
    raise NotUnderstood("no rows")
  index, kind = kernel.index, kernel.type
  rows, columns = division
  at_lane = {
    f"{index} % {columns}": "(lane_first + lane)",
    index: f"(lane_row * {columns} + lane_first + lane)",
  }
  shared = {f"{index} / {columns}": "lane_row"}
  for node in (n for s in kernel.body for n in walk(s)):
    if (rest := _larger_divisor(node, index, columns)) is not None:
      shared[text(node)] = f"(lane_row / {rest})"
  head = f"""\
const {kind} lane_tiles = ({columns} + {width - 1}) / {width};
const {kind} lane_tile = blockIdx.x * ({kind})blockDim.x + threadIdx.x;
if (lane_tile >= {rows} * lane_tiles) return;
const {kind} lane_row = lane_tile / lane_tiles;
const {kind} lane_first = lane_tile % lane_tiles * {width};"""
  return _Parts(
    head,
    f"lane_first + {width} <= {columns}",
    Lanes(kernel.body, width, at_lane).uniform(shared).emit(),
    f"lane_row * {columns} + lane_first",
    f"(lane_row + 1) * {columns}",
    f"({rows}) * (({columns} + {width - 1}) / {width})",
  )


def _larger_divisor(node: Node, index: str, columns: str) -> str | None:
  """'h' for `i / (h * w)` where a row has w columns."""
  if node.type != "binary_expression":
    return None
  if node.child_by_field_name("operator").type != "/":
    return None
  left, right = (node.child_by_field_name(s) for s in ("left", "right"))
  if text(left) != index or right.type != "parenthesized_expression":
    return None
  product = right.named_children[0]
  if product.type != "binary_expression":
    return None
  if product.child_by_field_name("operator").type != "*":
    return None
  if text(product.child_by_field_name("right")) != columns:
    return None
  return f"({text(product.child_by_field_name('left'))})"
