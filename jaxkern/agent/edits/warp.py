"""`warp`: 32 threads share a row, load side by side and sum by shuffles."""

from jaxkern.agent.edits.lanes import base_of
from jaxkern.agent.edits.sums import IDENTITY, Sum, is_number, sums_of, type_of
from jaxkern.agent.edits.syntax import (
  Kernel,
  Loop,
  find,
  kernels,
  launches,
  loop_of,
  names,
  parameters,
  parse,
  replaced,
  substitute,
  text,
)


def warp(source: str) -> str | None:
  """A warp per row instead of a thread: loops in strides of 32."""
  root = parse(source)
  if root is None:
    return None
  for kernel in kernels(root):
    mine = [c for c in launches(root) if c.kernel == kernel.name]
    if len(mine) != 1 or not is_number(text(mine[0].block)):
      continue
    if int(text(mine[0].block)) % 32 or "warp_lane" in names(kernel.node):
      continue
    body = _by_warp(kernel)
    if body is None:
      continue
    kind, launch = kernel.type, mine[0]
    head = (
      f"const int warp_lane = threadIdx.x % 32;\n"
      f"{kind} {kernel.index} ="
      f" (blockIdx.x * ({kind})blockDim.x + threadIdx.x) / 32;\n"
      f"if ({kernel.index} >= {kernel.count}) return;\n"
    )
    end = kernel.node.child_by_field_name("body").end_byte - 1
    per_block = int(text(launch.block)) // 32
    given = dict(
      zip(
        (n for _, n in parameters(kernel.node)), launch.arguments, strict=True
      )
    )
    count = substitute(
      find(parse(f"int v = {kernel.count};"), "init_declarator")[
        0
      ].child_by_field_name("value"),
      {k: f"({v})" for k, v in given.items()},
    )
    return replaced(
      source,
      [
        (kernel.head[0].start_byte, end, head + body + "\n"),
        (
          launch.grid.start_byte,
          launch.grid.end_byte,
          f"({count} + {per_block - 1}) / {per_block}",
        ),
      ],
    )
  return None


def _by_warp(kernel: Kernel) -> str | None:
  """The body where 32 threads take turns in every loop."""
  lines, shared = [], False
  for node in kernel.body:
    loop = loop_of(node)
    if loop is not None:
      sums = sums_of(loop, kernel.node)
      if sums is None or any(s.operation not in IDENTITY for s in sums):
        return None
      lines += _stride(loop, sums)
      shared = True
    elif find(node, "for_statement", "while_statement", "do_statement"):
      return None
    elif node.type == "expression_statement":
      target = next(iter(find(node, "assignment_expression")), None)
      if target is None:
        return None
      local = type_of(kernel.node, base_of(target.child_by_field_name("left")))
      lines.append(text(node) if local else f"if (warp_lane == 0) {text(node)}")
    elif node.type == "declaration":
      lines.append(text(node))
    elif node.type != "comment":
      return None
  return "\n".join(lines) if shared else None


def _stride(loop: Loop, sums: list[Sum]) -> list[str]:
  values = {s.name: f"own_{s.name}" for s in sums}
  lines = ["{"]
  for s in sums:
    identity = IDENTITY[s.operation].format(s.name)
    lines.append(f"{s.type} own_{s.name} = {identity};")
  lines += [
    f"for ({loop.type} {loop.name} = {loop.start} + warp_lane;"
    f" {loop.name} < {loop.end}; {loop.name} += 32) {{",
    *(substitute(n, values) for n in loop.body),
    "}",
  ]
  for s in sums:
    mine = s._replace(name=f"own_{s.name}")
    other = f"__shfl_xor_sync(0xffffffffu, own_{s.name}, step)"
    lines += [
      f"for (int step = 16; step > 0; step /= 2) {mine.joined(other)}",
      s.joined(f"own_{s.name}"),
    ]
  return [*lines, "__syncwarp();", "}"]
