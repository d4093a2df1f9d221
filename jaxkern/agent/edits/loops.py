"""Edits of innermost loops: independent sums, cheaper steps, less work twice.

split       W sums side by side instead of one chain of additions
reciprocal  divide once before the loop instead of in each step
reuse       what one loop has computed is kept for the next one
unroll      asks the compiler to
"""

from tree_sitter import Node

from jaxkern.agent.edits.lanes import base_of
from jaxkern.agent.edits.sums import (
  IDENTITY,
  Sum,
  declared,
  free_loops,
  is_number,
  own_element,
  sums_of,
  type_of,
)
from jaxkern.agent.edits.syntax import (
  Kernel,
  Loop,
  find,
  functions,
  is_global,
  kernels,
  loop_of,
  names,
  parameters,
  parse,
  replaced,
  substitute,
  text,
  walk,
)


def _braced(body: list[Node]) -> str:
  return "\n".join(text(n) for n in body)


def split(source: str, width: int) -> str | None:
  """W steps of a loop side by side, with a sum each."""
  root = parse(source)
  if root is None:
    return None
  edits = []
  for _, loop, sums in free_loops(root):
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
    + IDENTITY[s.operation].format(s.name)
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
      if loop and not inner and not is_number(loop.end) and not asked:
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
  for function, loop, _ in free_loops(root):
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
  inside = {n for d in find(node, "declaration") for n in declared(d)}
  return name in inside or any(
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
  if adds is None or stores is None:
    return []
  if len(sums_of(first, kernel.node) or ()) != 1:
    return []
  target = stores.child_by_field_name("left")
  value = adds.child_by_field_name("right")
  if text(adds.child_by_field_name("operator")) != "+=":
    return []
  if not find(value, "call_expression") or not _free(kernel, second, target):
    return []
  again = [
    n
    for n in walk(stores.child_by_field_name("right"))
    if text(n) == text(value)
  ]
  if not again:
    return []
  kept, total = text(target), text(adds.child_by_field_name("left"))
  new = f"{{ {kept} = {text(value)}; {total} += {kept}; }}"
  return [
    (adds.parent.start_byte, adds.parent.end_byte, new),
    (again[0].start_byte, again[0].end_byte, kept),
  ]


def _free(kernel: Kernel, loop: Loop, target: Node) -> bool:
  """Whether what a loop stores to is a float output that nothing else uses."""
  kinds = {name: kind for kind, name in parameters(kernel.node)}
  output = base_of(target)
  kind = kinds.get(output, "").replace("__restrict__", "").replace(" ", "")
  uses = [n for n in find(kernel.node, "identifier") if text(n) == output]
  return (
    kind == "float*"
    and len(uses) == 2  # The parameter, and here.
    and own_element(loop.node, target, output, loop.name)
  )
