"""`fuse`: two kernels in a row, one thread per element each, become one.

What the first stored in an array at its own index, and the second loads there,
stays in a cache, and there is one launch less. The array is still written.
"""

from tree_sitter import Node

from jaxkern.agent.edits.coarsen import in_terms_of
from jaxkern.agent.edits.lanes import base_of
from jaxkern.agent.edits.syntax import (
  Kernel,
  Launch,
  cooperates,
  find,
  kernels,
  launches,
  names,
  parameters,
  parse,
  replaced,
  substitute,
  text,
)


def fuse(source: str) -> str | None:
  """The first two launches in a row that can be one; None without such."""
  root = parse(source)
  if root is None:
    return None
  by_name = {k.name: k for k in kernels(root)}
  calls = launches(root)
  for first, second in zip(calls, calls[1:], strict=False):
    one, two = by_name.get(first.kernel), by_name.get(second.kernel)
    if one is None or two is None or one.name == two.name:
      continue
    times = [c.kernel for c in calls]
    if times.count(one.name) != 1 or times.count(two.name) != 1:
      continue
    if not _adjacent(first.node, second.node):
      continue
    if (made := _fused(source, one, two, first, second)) is not None:
      return made
  return None


def _adjacent(first: Node, second: Node) -> bool:
  """Whether nothing but the end of a statement lies between two launches."""
  following = first.parent.next_named_sibling
  while following is not None and following.type == "comment":
    following = following.next_named_sibling
  return following is not None and following == second.parent


def _fused(source, one: Kernel, two: Kernel, first: Launch, second: Launch):
  """The source with both as one kernel, and the other launch gone."""
  arguments = [
    dict(zip((n for _, n in parameters(k.node)), c.arguments, strict=True))
    for k, c in ((one, first), (two, second))
  ]
  counts = [
    in_terms_of(k.count, given)
    for k, given in zip((one, two), arguments, strict=True)
  ]
  if counts[0] != counts[1] or text(first.block) != text(second.block):
    return None
  if one.type != two.type or any(map(cooperates, (one.node, two.node))):
    return None
  if not _each_its_own(one, two, *arguments):
    return None
  # All names of the second get a prefix; then both have the same index.
  renamed = {
    n: f"then_{n}"
    for n in names(two.node)
    if n in arguments[1] or _declares(two.node, n)
  }
  renamed[two.index] = one.index
  if set(renamed.values()) & (names(one.node) - {one.index}):
    return None
  joined = ", ".join(
    [f"{k} {n}" for k, n in parameters(one.node)]
    + [f"{k} {renamed[n]}" for k, n in parameters(two.node)]
  )
  end = one.node.child_by_field_name("body").end_byte - 1
  declarator = one.node.child_by_field_name("declarator")
  listed = declarator.child_by_field_name("parameters")
  body = "\n".join(substitute(n, renamed) for n in two.body)
  given = ", ".join([*first.arguments, *second.arguments])
  call = first.node.child_by_field_name("arguments")
  statement = second.node.parent
  return replaced(
    source,
    [
      (listed.start_byte, listed.end_byte, f"({joined})"),
      (end, end, f"{{\n{body}\n}}\n"),
      (two.node.start_byte, two.node.end_byte, ""),
      (call.start_byte, call.end_byte, f"({given})"),
      (statement.start_byte, statement.end_byte, ""),
    ],
  )


def _declares(function: Node, name: str) -> bool:
  return any(
    text(n) == name
    for d in find(function, "declaration")
    for n in find(d, "identifier")[:1]
  ) or any(
    text(i.child_by_field_name("declarator")) == name
    for i in find(function, "init_declarator")
  )


def _each_its_own(one: Kernel, two: Kernel, given_one, given_two) -> bool:
  """Whether no thread of the second needs another thread of the first.

  Arrays that either stores to and both use: everywhere at the thread's index.
  """
  stored = set()
  for kernel, given in ((one, given_one), (two, given_two)):
    for a in find(kernel.node, "assignment_expression", "update_expression"):
      target = a.child_by_field_name("left") or a.child_by_field_name(
        "argument"
      )
      if base_of(target) in given:
        stored.add(given[base_of(target)])
    if any(
      text(c.child_by_field_name("function")).startswith("atomic")
      for c in find(kernel.node, "call_expression")
    ):
      return False
  for kernel, given in ((one, given_one), (two, given_two)):
    for name in (n for n, a in given.items() if a in stored):
      other = given_two if kernel is one else given_one
      if given[name] not in other.values():
        continue
      uses = [
        n
        for n in find(kernel.node.child_by_field_name("body"), "identifier")
        if text(n) == name
      ]
      own = [
        s
        for s in find(kernel.node, "subscript_expression")
        if text(s).replace(" ", "") == f"{name}[{kernel.index}]"
      ]
      if len(uses) != len(own):
        return False
  return True
