"""Edits of innermost loops: independent sums, cheaper steps, less work twice.

split       W sums side by side instead of one chain of additions
warp        32 threads share a row: loads side by side, sums by shuffles
reciprocal  divide once before the loop instead of in each step
reuse       what one loop has computed is kept for the next one
unroll      asks the compiler to
"""

import re
from typing import NamedTuple

from tree_sitter import Node

from jaxkern.agent.edits.lanes import base_of
from jaxkern.agent.edits.syntax import (
  Kernel,
  Loop,
  cooperates,
  find,
  functions,
  is_global,
  kernels,
  launches,
  loop_of,
  names,
  parameters,
  parse,
  replaced,
  substitute,
  text,
  walk,
)

# Of a reduction: what it starts from, and how two become one.
_IDENTITY = {"+=": "0", "*=": "1", "fmaxf": "{0}", "fminf": "{0}"}
_IDENTITY |= {"larger": "{0}", "smaller": "{0}", "|=": "0", "&=": "{0}"}


class Sum(NamedTuple):
  """A variable that a loop reduces into: its type, name and operation."""

  type: str
  name: str
  operation: str

  def joined(self, other: str) -> str:
    """The statement that takes another partial result in."""
    if self.operation.endswith("="):
      return f"{self.name} {self.operation} {other};"
    return f"{self.name} = {self.operation}({self.name}, {other});"


def sums_of(loop: Loop, function: Node) -> list[Sum] | None:
  """What a loop reduces into, if its steps can be done in any order.

  None if they cannot: something else is carried from step to step, a store may
  meet a load of another step, or the loop is left early.
  """
  node = loop.node.child_by_field_name("body")
  if cooperates(node) or find(
    node,
    "for_statement",
    "while_statement",
    "do_statement",
    "lambda_expression",
    "break_statement",
    "return_statement",
    "goto_statement",
    "update_expression",
    "comma_expression",
    "switch_statement",
  ):
    return None
  if any(
    text(c.child_by_field_name("function")).startswith("atomic")
    for c in find(node, "call_expression")
  ):
    return None
  inside = {n for d in find(node, "declaration") for n in _declared(d)}
  found: dict[str, Sum] = {}
  for assignment in find(node, "assignment_expression"):
    if assignment.parent.type != "expression_statement":
      return None
    target = assignment.child_by_field_name("left")
    name = base_of(target)
    if not name:
      return None
    if name in inside:
      continue
    if target.type == "identifier":
      one = _sum(assignment, name, function)
      if one is None or found.get(name, one) != one:
        return None
      found[name] = one
    elif not _own_element(node, target, name, loop.name):
      return None
  for one in found.values():
    mentioned = [n for n in find(node, "identifier") if text(n) == one.name]
    times = 1 if one.operation.endswith("=") else 2
    makers = [
      a
      for a in find(node, "assignment_expression")
      if text(a.child_by_field_name("left")) == one.name
    ]
    if len(mentioned) != times * len(makers):
      return None
  return list(found.values())


def _declared(declaration: Node) -> list[str]:
  found = []
  for d in declaration.children_by_field_name("declarator"):
    while d is not None and d.type != "identifier":
      d = d.child_by_field_name("declarator")
    if d is not None:
      found.append(text(d))
  return found


def _sum(assignment: Node, name: str, function: Node) -> Sum | None:
  operator = text(assignment.child_by_field_name("operator"))
  right = assignment.child_by_field_name("right")
  kind = type_of(function, name)
  if not kind:
    return None
  if operator in ("+=", "*=", "|=", "&="):
    return None if name in names(right) else Sum(kind, name, operator)
  if operator == "=" and right.type == "call_expression":
    called = text(right.child_by_field_name("function"))
    given = right.child_by_field_name("arguments").named_children
    if called in _IDENTITY and len(given) == 2:
      if name in map(text, given):
        return Sum(kind, name, called)
  return None


def type_of(function: Node, name: str) -> str:
  """The declared type of a plain local variable; '' if it is none."""
  for declaration in find(function, "declaration"):
    for d in declaration.children_by_field_name("declarator"):
      inner = (
        d.child_by_field_name("declarator")
        if (d.type == "init_declarator")
        else d
      )
      if inner.type == "identifier" and text(inner) == name:
        return text(declaration.child_by_field_name("type"))
  return ""


def _own_element(node: Node, target: Node, base: str, counter: str) -> bool:
  """Whether every step stores to an element that only it touches."""
  if target.type != "subscript_expression":
    return False
  if counter not in names(target.child_by_field_name("indices")):
    return False
  return all(
    text(n) == text(target)
    for n in find(node, "subscript_expression")
    if base_of(n) == base
  )


def _loops(root: Node):
  """(function, loop, what it reduces into) of innermost loops in kernels."""
  for function in functions(root):
    if not is_global(function):
      continue
    for node in find(function, "for_statement"):
      loop = loop_of(node)
      if loop is None or _is_number(loop.end):
        continue
      sums = sums_of(loop, function)
      if sums is not None:
        yield function, loop, sums


def _is_number(written: str) -> bool:
  return bool(re.fullmatch(r"[\d']+", written.strip()))


def _braced(body: list[Node]) -> str:
  return "\n".join(text(n) for n in body)


def split(source: str, width: int) -> str | None:
  """W steps of a loop side by side, with a sum each."""
  root = parse(source)
  if root is None:
    return None
  edits = []
  for _, loop, sums in _loops(root):
    if any(n.startswith(("part_", "turn")) for n in names(loop.node)):
      continue
    edits.append(
      (loop.node.start_byte, loop.node.end_byte, _split(loop, sums, width))
    )
  return replaced(source, edits) if edits else None


def _split(loop: Loop, sums: list[Sum], width: int) -> str:
  counter = loop.name
  values = {s.name: f"part_{s.name}[turn]" for s in sums}
  values[counter] = f"({counter} + turn)"
  lanes = f"for (int turn = 0; turn < {width}; ++turn)"
  start = [
    f"{s.type} part_{s.name}[{width}];\n"
    f"{lanes} part_{s.name}[turn] = "
    + _IDENTITY[s.operation].format(s.name)
    + ";"
    for s in sums
  ]
  body = "\n".join(substitute(n, values) for n in loop.body)
  end = [f"{lanes} {s.joined(f'part_{s.name}[turn]')}" for s in sums]
  return "\n".join(
    [
      "{",
      *start,
      f"{loop.type} {counter} = {loop.start};",
      f"for (; {counter} + {width - 1} < {loop.end}; {counter} += {width}) {{",
      f"{lanes} {{",
      body,
      "}",
      "}",
      *end,
      f"for (; {counter} < {loop.end}; ++{counter}) {{",
      _braced(loop.body),
      "}",
      "}",
    ]
  )


def unroll(source: str, times: int) -> str | None:
  """`#pragma unroll` before innermost loops."""
  root = parse(source)
  if root is None:
    return None
  edits = []
  for function in functions(root):
    for node in find(function, "for_statement") if is_global(function) else ():
      loop = loop_of(node)
      inner = find(node.child_by_field_name("body"), "for_statement")
      before = source.encode()[: node.start_byte].decode().rstrip()
      asked = before.rpartition("\n")[2].lstrip().startswith("#pragma")
      if loop and not inner and not _is_number(loop.end) and not asked:
        if before.endswith(("{", "}", ";")):
          edits.append(
            (node.start_byte, node.start_byte, f"\n#pragma unroll {times}\n")
          )
  return replaced(source, edits) if edits else None


def reciprocal(source: str) -> str | None:
  """`/ s` in a loop becomes `* inverse_s`, computed before it."""
  root = parse(source)
  if root is None:
    return None
  edits = []
  for function, loop, _ in _loops(root):
    node = loop.node
    divisors = []
    for division in find(node.child_by_field_name("body"), "binary_expression"):
      right = division.child_by_field_name("right")
      if division.child_by_field_name("operator").type != "/":
        continue
      name = text(right)
      if right.type == "identifier" and type_of(function, name) == "float":
        if not _set_in(node, name):
          divisors.append((division, name))
    if not divisors or any(f"inverse_{n}" in names(node) for _, n in divisors):
      continue
    start = "".join(
      f"const float inverse_{name} = 1.0f / {name};\n"
      for name in dict.fromkeys(name for _, name in divisors)
    )
    edits.append((node.start_byte, node.start_byte, "{\n" + start))
    edits.append((node.end_byte, node.end_byte, "\n}"))
    for division, name in divisors:
      sign = division.child_by_field_name("operator")
      right = division.child_by_field_name("right")
      edits.append((sign.start_byte, right.end_byte, f"* inverse_{name}"))
  return replaced(source, edits) if edits else None


def _set_in(node: Node, name: str) -> bool:
  declared = {n for d in find(node, "declaration") for n in _declared(d)}
  return name in declared or any(
    base_of(a.child_by_field_name("left")) == name
    for a in find(node, "assignment_expression")
  )


def reuse(source: str) -> str | None:
  """Keeps in the output what a first loop computes and a second one again.

  `s += f(x[c])` and later `y[c] = f(x[c]) / s` with a costly f: the first loop
  stores f(x[c]) in y[c], the second one loads it.
  """
  root = parse(source)
  if root is None:
    return None
  for kernel in kernels(root):
    loops = [loop_of(n) for n in kernel.body]
    for k, first in enumerate(loops):
      for second in loops[k + 1 :]:
        if first and second:
          edits = _kept(kernel, first, second)
          if edits:
            return replaced(source, edits)
  return None


def _kept(kernel: Kernel, first: Loop, second: Loop):
  """The edits of two loops that compute the same; [] if they do not."""
  same = (first.start, first.end, first.name)
  if same != (second.start, second.end, second.name):
    return []
  if len(first.body) != 1 or len(second.body) != 1:
    return []
  adds, stores = (
    next(iter(find(b, "assignment_expression")), None)
    for b in (first.body[0], second.body[0])
  )
  if (
    adds is None
    or stores is None
    or len(sums_of(first, kernel.node) or ()) != 1
  ):
    return []
  target = stores.child_by_field_name("left")
  kinds = {name: kind for kind, name in parameters(kernel.node)}
  output = base_of(target)
  if (
    kinds.get(output, "").replace(" ", "").replace("__restrict__", "")
    != "float*"
  ):
    return []
  if text(adds.child_by_field_name("operator")) != "+=":
    return []
  elsewhere = [n for n in find(kernel.node, "identifier") if text(n) == output]
  if len(elsewhere) != 2 or not _own_element(
    second.node, target, output, second.name
  ):
    return []
  value = adds.child_by_field_name("right")
  again = [
    n
    for n in walk(stores.child_by_field_name("right"))
    if text(n) == text(value)
  ]
  if not again or not find(value, "call_expression"):
    return []
  kept = text(target)
  statement = adds.parent
  return [
    (
      statement.start_byte,
      statement.end_byte,
      f"{{ {kept} = {text(value)}; {text(adds.child_by_field_name('left'))}"
      f" += {kept}; }}",
    ),
    (again[0].start_byte, again[0].end_byte, kept),
  ]


def warp(source: str) -> str | None:
  """A warp per row instead of a thread: loops in strides of 32."""
  root = parse(source)
  if root is None:
    return None
  for kernel in kernels(root):
    mine = [c for c in launches(root) if c.kernel == kernel.name]
    if len(mine) != 1 or not _is_number(text(mine[0].block)):
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
      if sums is None or any(s.operation not in _IDENTITY for s in sums):
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
    identity = _IDENTITY[s.operation].format(s.name)
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
