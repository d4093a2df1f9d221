"""Several outputs a thread, side by side: what they share is done once.

A kernel with one thread per output becomes one whose threads have W of them
(lanes). What depends on the lane becomes an array of W and every statement with
such a thing a loop over lanes; what does not is computed once. Loops that all
lanes go through together stay outside. Threads do not depend on each other, so
the order in which lanes take turns does not matter.

Innermost loops then have a constant count: host compilers make them vector
instructions, nvcc registers that are loaded once and used W times.
"""

from collections.abc import Sequence

from tree_sitter import Node

from jaxkern.agent.edits.syntax import (
  cooperates,
  find,
  rewrite,
  statements,
  text,
  walk,
)

_LANE = "lane"


class NotUnderstood(Exception):
  """The code has something that this edit cannot take apart."""


class Lanes:
  """Statements of one thread, rewritten for `width` of them."""

  def __init__(self, body: Sequence[Node], width: int, values: dict[str, str]):
    """Finds out what depends on the lane.

    Args:
      body: the statements.
      width: lanes.
      values: texts that differ per lane (identifiers, or whole expressions such
        as 'i % n'), each with its text for lane `lane`.
    """
    self._width, self._values = width, values
    self._declared: set[str] = set()
    self.varying: set[str] = {v for v in values if v.isidentifier()}
    # Whole expressions that are the same for all lanes.
    self._uniform: dict[str, str] = {}
    self._body = list(body)

  def uniform(self, expressions: dict[str, str]) -> "Lanes":
    """Names expressions of the index that all lanes share, with their text."""
    self._uniform = expressions
    return self

  def emit(self) -> str:
    """The statements for all lanes.

    Raises:
      NotUnderstood: for what it cannot take apart.
    """
    if any(cooperates(n) for n in self._body):
      raise NotUnderstood("threads that meet")
    for statement in self._body:
      self._declare(statement)
    before = None
    while before != self.varying:
      before = set(self.varying)
      for statement in self._body:
        self._spread(statement, False, frozenset())
    return "\n".join(self._emit(self._body))

  def _declare(self, node: Node) -> None:
    for inner in walk(node):
      if inner.type == "declaration":
        for declarator in _declarators(inner):
          self._declared.add(_declared_name(declarator))
      elif inner.type in ("preproc_if", "preproc_ifdef", "preproc_call"):
        raise NotUnderstood("a directive inside of a function")
      elif inner.type in (
        "while_statement",
        "do_statement",
        "switch_statement",
      ):
        raise NotUnderstood(inner.type)

  def _varies(self, node: Node) -> bool:
    """Whether a piece of code gives different things for different lanes."""
    if text(node) in self._uniform:
      return False
    if node.type == "identifier":
      return text(node) in self.varying
    return any(self._varies(child) for child in node.children)

  def _spread(self, node: Node, divergent: bool, own: frozenset) -> None:
    """Marks what is set by something varying, or where lanes part.

    Variables that are declared where lanes have parted are each lane's own
    without being an array: `own`.
    """
    if node.type in ("if_statement", "for_statement", "conditional_expression"):
      if not divergent and any(map(self._varies, _heads(node))):
        divergent, own = True, frozenset(_declared_in([node]))
    for name, source in _assignments(node):
      if name in self._declared and name not in own:
        if divergent or (source is not None and self._varies(source)):
          self.varying.add(name)
    for k, child in enumerate(node.children):
      self._spread(child, divergent, own)
      # After `if (varying) continue;` lanes have parted, until the loop ends.
      if not divergent and child.type == "if_statement" and _leaves(child):
        if any(map(self._varies, _heads(child))):
          divergent = True
          own = frozenset(_declared_in(node.children[k + 1 :]))

  def _emit(self, body: Sequence[Node]) -> list[str]:
    lines: list[str] = []
    for k, node in enumerate(body):
      if node.type == "if_statement" and _leaves(node):
        if self._varies(node.child_by_field_name("condition")):
          # The rest of the loop's body, lane by lane.
          lines += self._by_lane(body[k:])
          return lines
      lines += self._statement(node)
    return lines

  def _statement(self, node: Node) -> list[str]:
    if node.type == "declaration":
      return self._declaration(node)
    if node.type == "compound_statement":
      return ["{", *self._emit(statements(node)), "}"]
    if node.type == "for_statement":
      return self._loop(node)
    if node.type == "if_statement":
      return self._if(node)
    if node.type == "expression_statement":
      if self._varies(node) or not self._local_effect(node):
        return self._by_lane([node])
      return [self._shared(node)]
    if node.type in ("continue_statement", "break_statement"):
      return [text(node)]
    if node.type in ("comment", ";"):
      return []
    raise NotUnderstood(node.type)

  def _local_effect(self, node: Node) -> bool:
    """Whether doing it once instead of W times is the same."""
    assigned = _assignments(node)
    if find(node, "call_expression") and not assigned:
      return False
    return all(name in self._declared for name, _ in assigned)

  def _declaration(self, node: Node) -> list[str]:
    lines = []
    kind = text(node.child_by_field_name("type"))
    before = [text(n) for n in node.children if n.type == "type_qualifier"]
    for declarator in _declarators(node):
      name, value = _declared_name(declarator), None
      if declarator.type == "init_declarator":
        value = declarator.child_by_field_name("value")
        declarator = declarator.child_by_field_name("declarator")
      if name not in self.varying:
        tail = f" = {self._shared(value)}" if value is not None else ""
        head = " ".join([*before, kind])
        lines.append(f"{head} {self._shared(declarator)}{tail};")
        continue
      if kind == "auto" or declarator.type == "reference_declarator":
        raise NotUnderstood("auto or a reference")
      lines += self._widened(kind, before, declarator, name, value)
    return lines

  def _widened(self, kind, before, declarator, name, value) -> list[str]:
    """A variable of each lane."""
    if declarator.type == "pointer_declarator":
      if find(declarator, "type_qualifier", "ms_restrict_modifier"):
        raise NotUnderstood("a qualified pointer")
      stars = text(declarator)[: text(declarator).index(name)]
      head = " ".join([*before, kind]) + stars
    else:
      head = " ".join([w for w in before if w != "const"] + [kind])
    extents = text(declarator)[text(declarator).index(name) + len(name) :]
    lines = [f"{head} {name}[{self._width}]{extents};"]
    if value is not None and value.type == "initializer_list":
      if not extents:
        raise NotUnderstood("a list for a scalar")
      # Elements that are not named are zero, as in the original.
      extent = extents.strip("[]")
      if not extent:
        raise NotUnderstood("an array without an extent")
      given = [self._at_lane(v) for v in value.named_children]
      sets = " ".join(
        f"{name}[{_LANE}][{k}] = {v};" for k, v in enumerate(given)
      )
      lines += self._lane_loop(
        [
          f"for (int e = {len(given)}; e < {extent}; ++e)"
          f" {name}[{_LANE}][e] = 0;",
          sets,
        ]
      )
    elif value is not None:
      lines += self._lane_loop([f"{name}[{_LANE}] = {self._at_lane(value)};"])
    return lines

  def _loop(self, node: Node) -> list[str]:
    parts = _heads(node)
    body = statements(node.child_by_field_name("body"))
    together = len(parts) == 3 and not any(map(self._varies, parts))
    if not together or self._parts_with_break(node):
      return self._by_lane([node])
    if not self._varies(node) and self._local_effect(node):
      return [self._shared(node)]
    first, condition, update = map(self._shared, parts)
    semicolon = "" if first.endswith(";") else ";"
    return [
      f"for ({first}{semicolon} {condition}; {update}) {{",
      *self._emit(body),
      "}",
    ]

  def _parts_with_break(self, loop: Node) -> bool:
    """Whether some lanes may leave a loop and others not."""
    for leave in find(loop, "break_statement"):
      at = leave.parent
      while at is not None and at != loop:
        if at.type == "if_statement" and self._varies(
          at.child_by_field_name("condition")
        ):
          return True
        at = at.parent
    return False

  def _if(self, node: Node) -> list[str]:
    condition = node.child_by_field_name("condition")
    if self._varies(condition):
      if _leaves(node):
        raise NotUnderstood("a jump out of a nested block")
      return self._by_lane([node])
    then = statements(node.child_by_field_name("consequence"))
    lines = [f"if {self._shared(condition)} {{", *self._emit(then), "}"]
    other = node.child_by_field_name("alternative")
    if other is not None:
      inner = [n for n in other.named_children if n.type != "comment"]
      rest = statements(inner[-1])
      lines += ["else {", *self._emit(rest), "}"]
    return lines

  def _by_lane(self, body: Sequence[Node]) -> list[str]:
    """Statements whole, one lane after another."""
    inside = _declared_in(body)
    return self._lane_loop([self._at_lane(n, inside) for n in body])

  def _lane_loop(self, lines: Sequence[str]) -> list[str]:
    count = f"for (int {_LANE} = 0; {_LANE} < {self._width}; ++{_LANE})"
    return [f"{count} {{", *lines, "}"]

  def _at_lane(self, node: Node, inside: Sequence[str] = ()) -> str:
    """The code of one lane; variables declared inside are its own already."""

    def change(n: Node) -> str | None:
      """Arrays in the place of variables, expressions of the index."""
      written = text(n)
      if written in self._uniform:
        return self._uniform[written]
      if n.type not in ("field_identifier", "type_identifier"):
        if written in self._values:
          return self._values[written]
      if n.type == "identifier" and written in self.varying:
        if written not in inside:
          return f"{written}[{_LANE}]"
      return None

    return rewrite(node, change)

  def _shared(self, node: Node) -> str:
    """The code that all lanes share."""
    return rewrite(node, lambda n: self._uniform.get(text(n)))


def _heads(node: Node) -> list[Node]:
  """What decides about a statement: a condition, the head of a loop."""
  fields = ("initializer", "condition", "update")
  parts = (node.child_by_field_name(f) for f in fields)
  return [p for p in parts if p is not None]


def _declared_in(body: Sequence[Node]) -> set[str]:
  return {
    _declared_name(d)
    for statement in body
    for n in find(statement, "declaration")
    for d in _declarators(n)
  }


def _declarators(declaration: Node) -> list[Node]:
  return declaration.children_by_field_name("declarator")


def _declared_name(declarator: Node) -> str:
  found = declarator
  while found is not None and found.type != "identifier":
    found = found.child_by_field_name("declarator") or next(
      (
        c
        for c in found.named_children
        if c.type.endswith("declarator") or c.type == "identifier"
      ),
      None,
    )
  if found is None:
    raise NotUnderstood("a declaration without a name")
  return text(found)


def _assignments(node: Node) -> list[tuple[str, Node | None]]:
  """(variable, what it depends on) of the assignments right in this node."""
  if node.type == "init_declarator":
    return [(_declared_name(node), node.child_by_field_name("value"))]
  if node.type == "assignment_expression":
    target = node.child_by_field_name("left")
    return [(base_of(target), node)]
  if node.type == "update_expression":
    return [(base_of(node.child_by_field_name("argument")), None)]
  if node.type == "expression_statement":
    return [a for n in walk(node) if n is not node for a in _assignments(n)]
  return []


def base_of(target: Node) -> str:
  """The variable that an assignment's left side belongs to; '' if hidden."""
  while target.type in (
    "subscript_expression",
    "field_expression",
    "parenthesized_expression",
  ):
    inner = target.child_by_field_name("argument")
    target = inner if inner is not None else target.named_children[0]
  return text(target) if target.type == "identifier" else ""


def _leaves(node: Node) -> bool:
  """Whether an if consists of `continue`, or has one of an outer loop."""
  for leave in find(node, "continue_statement"):
    at = leave.parent
    while at is not None and at != node:
      if at.type == "for_statement":
        break
      at = at.parent
    else:
      return True
  return False
