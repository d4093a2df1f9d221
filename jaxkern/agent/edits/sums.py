"""Which loops may take their steps in any order, and what they sum up."""

import re
from typing import NamedTuple

from tree_sitter import Node

from jaxkern.agent.edits.lanes import base_of
from jaxkern.agent.edits.syntax import (
  Loop,
  cooperates,
  find,
  functions,
  is_global,
  loop_of,
  names,
  text,
)

# Of a reduction: what it starts from, and how two become one.
IDENTITY = {"+=": "0", "*=": "1", "fmaxf": "{0}", "fminf": "{0}"}
IDENTITY |= {"larger": "{0}", "smaller": "{0}", "|=": "0", "&=": "{0}"}


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
  inside = {n for d in find(node, "declaration") for n in declared(d)}
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
    elif not own_element(node, target, name, loop.name):
      return None
  if not all(_only_summed(node, one) for one in found.values()):
    return None
  return list(found.values())


def _only_summed(node: Node, one: Sum) -> bool:
  """Whether a variable is used for nothing but taking summands in."""
  mentioned = [n for n in find(node, "identifier") if text(n) == one.name]
  makers = [
    a
    for a in find(node, "assignment_expression")
    if text(a.child_by_field_name("left")) == one.name
  ]
  times = 1 if one.operation.endswith("=") else 2
  return len(mentioned) == times * len(makers)


def declared(declaration: Node) -> list[str]:
  """The variables of a declaration."""
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
    if called in IDENTITY and len(given) == 2:
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


def own_element(node: Node, target: Node, base: str, counter: str) -> bool:
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


def free_loops(root: Node):
  """(function, loop, what it reduces into) of innermost loops in kernels."""
  for function in functions(root):
    if not is_global(function):
      continue
    for node in find(function, "for_statement"):
      loop = loop_of(node)
      if loop is None or is_number(loop.end):
        continue
      sums = sums_of(loop, function)
      if sums is not None:
        yield function, loop, sums


def is_number(written: str) -> bool:
  """Whether a text is a whole number."""
  return bool(re.fullmatch(r"[\d']+", written.strip()))
