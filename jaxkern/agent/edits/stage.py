"""`stage`: a product of matrices by tiles in shared memory.

For kernels with one output per thread, `count` being rows * columns, and a loop
`s += A * B` where A belongs to the output's row and B to its column: blocks of
16 x 16 threads load a tile of each side by side, wait, and use what they have
loaded 16 times.
"""

from tree_sitter import Node

from jaxkern.agent.edits.coarsen import division_of, in_terms_of
from jaxkern.agent.edits.sums import type_of
from jaxkern.agent.edits.syntax import (
  Kernel,
  Loop,
  cooperates,
  find,
  kernels,
  launches,
  loop_of,
  names,
  parameters,
  parse,
  replaced,
  rewrite,
  text,
  walk,
)

_TILE = 16
_NAMES = ("tile_", "staged_")


def stage(source: str) -> str | None:
  """The kernel with staged tiles; None where there is no such product."""
  root = parse(source)
  if root is None:
    return None
  for kernel in kernels(root):
    mine = [c for c in launches(root) if c.kernel == kernel.name]
    found = _product(kernel)
    if len(mine) != 1 or found is None:
      continue
    if any(n.startswith(_NAMES) for n in names(kernel.node)):
      continue
    rows, columns = division_of(kernel)
    given = dict(
      zip(
        (name for _, name in parameters(kernel.node)),
        (f"({a})" for a in mine[0].arguments),
        strict=True,
      )
    )
    grid = (
      f"(({rows}) + {_TILE - 1}) / {_TILE}"
      f" * ((({columns}) + {_TILE - 1}) / {_TILE})"
    )
    end = kernel.node.child_by_field_name("body").end_byte - 1
    launch = mine[0]
    return replaced(
      source,
      [
        (kernel.head[0].start_byte, end, _body(kernel, rows, columns, *found)),
        (
          launch.grid.start_byte,
          launch.grid.end_byte,
          in_terms_of(grid, given),
        ),
        (launch.block.start_byte, launch.block.end_byte, str(_TILE * _TILE)),
      ],
    )
  return None


def _product(kernel: Kernel):
  """(position of the loop, the loop, sum, A, B); None if there is none."""
  if division_of(kernel) is None:
    return None
  for k, node in enumerate(kernel.body):
    loop = loop_of(node)
    if loop is None or len(loop.body) != 1:
      continue
    sides = _sides(kernel, loop)
    before_and_after = [n for n in kernel.body if n is not node]
    if sides is None or any(map(cooperates, kernel.body)):
      continue
    # What comes before is done by threads without an output, too.
    stores = [
      a for n in before_and_after[:k] for a in find(n, "assignment_expression")
    ]
    if not stores and loop.start.strip() == "0":
      return (k, loop, *sides)
  return None


def _sides(kernel: Kernel, loop: Loop):
  """(sum, A, B) of `sum += A * B`."""
  added = find(loop.body[0], "assignment_expression")
  if (
    len(added) != 1
    or added[0].parent is not None
    and (added[0].parent.type != "expression_statement")
  ):
    return None
  target, right = (added[0].child_by_field_name(f) for f in ("left", "right"))
  if text(added[0].child_by_field_name("operator")) != "+=":
    return None
  if type_of(kernel.node, text(target)) not in ("float", "int"):
    return None
  if right.type != "binary_expression":
    return None
  if right.child_by_field_name("operator").type != "*":
    return None
  _, columns = division_of(kernel)
  left, right = (right.child_by_field_name(f) for f in ("left", "right"))
  kinds = [_belongs(n, kernel.index, columns, kernel) for n in (left, right)]
  if kinds == ["row", "column"]:
    return text(target), left, right
  if kinds == ["column", "row"]:
    return text(target), right, left
  return None


def _belongs(node: Node, index: str, columns: str, kernel: Kernel) -> str:
  """'row' or 'column' if a factor depends on that alone; '' else."""
  parts = {f"{index} / {columns}": "row", f"{index} % {columns}": "column"}
  found = set()
  locals_used = names(node) - {n for _, n in parameters(kernel.node)}
  seen = 0
  for n in walk(node):
    if text(n) in parts and n.type == "binary_expression":
      found.add(parts[text(n)])
      seen += 1
  mentions = [n for n in find(node, "identifier") if text(n) == index]
  local = {n for n in locals_used if type_of(kernel.node, n) and n != index}
  counter = {loop.name for s in kernel.body if (loop := loop_of(s)) is not None}
  if len(mentions) != seen or local - counter or len(found) != 1:
    return ""
  return found.pop()


def _body(kernel: Kernel, rows, columns, k, loop, total, a, b) -> str:
  """The kernel's statements."""
  kind, tile, index = kernel.type, _TILE, kernel.index
  known = {
    f"{index} / {columns}": "tile_row",
    f"{index} % {columns}": "tile_col",
  }

  def placed(node: Node, counter: str) -> str:
    """A factor where the thread's row, column and step are."""

    def change(n: Node) -> str | None:
      """The index's parts, and the loop's counter."""
      if n.type == "identifier" and text(n) == loop.name:
        return counter
      return known.get(text(n)) if n.type == "binary_expression" else None

    return rewrite(node, change)

  value = type_of(kernel.node, total)
  before = "\n".join(text(n) for n in kernel.body[:k])
  after = "\n".join(text(n) for n in kernel.body[k + 1 :])
  return f"""\
__shared__ {value} staged_a[{tile}][{tile}], staged_b[{tile}][{tile}];
const int tile_x = threadIdx.x % {tile}, tile_y = threadIdx.x / {tile};
const {kind} tile_columns = (({columns}) + {tile - 1}) / {tile};
const {kind} tile_row = blockIdx.x / tile_columns * {tile} + tile_y;
const {kind} tile_col = blockIdx.x % tile_columns * {tile} + tile_x;
const bool tile_inside = tile_row < ({rows}) && tile_col < ({columns});
const {kind} {index} = tile_inside ? tile_row * ({columns}) + tile_col : 0;
{before}
for ({kind} tile_start = 0; tile_start < {loop.end}; tile_start += {tile}) {{
const {kind} tile_a = tile_start + tile_x, tile_b = tile_start + tile_y;
staged_a[tile_y][tile_x] = 0;
staged_b[tile_y][tile_x] = 0;
if (tile_row < ({rows}) && tile_a < {loop.end})
staged_a[tile_y][tile_x] = {placed(a, "tile_a")};
if (tile_col < ({columns}) && tile_b < {loop.end})
staged_b[tile_y][tile_x] = {placed(b, "tile_b")};
__syncthreads();
for (int tile_k = 0; tile_k < {tile}; ++tile_k)
{total} += staged_a[tile_y][tile_k] * staged_b[tile_k][tile_x];
__syncthreads();
}}
if (!tile_inside) return;
{after}
"""
