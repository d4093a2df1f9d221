"""The sizes that a problem's text states, and the text with other ones.

A size is a maximal expression of integer literals (`4096`, `1024 * 2`) outside
of classes and of functions other than get_inputs and get_init_inputs. It is
known by its place, 'line:column'.
"""

import ast
from typing import NamedTuple

_FUNCTIONS = ("get_inputs", "get_init_inputs")
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Pow, ast.LShift)


class Size(NamedTuple):
  """A place with its value and the name that it is assigned to, or ''."""

  place: str
  value: int
  name: str


def find(source: str) -> list[Size]:
  """All sizes in the order of the text."""
  found = []
  for statement in ast.parse(source).body:
    name = ""
    if isinstance(statement, ast.Assign):
      target = statement.targets[0]
      name = target.id if isinstance(target, ast.Name) else ""
    elif not (
      isinstance(statement, ast.FunctionDef) and statement.name in _FUNCTIONS
    ):
      continue
    _collect(statement, name, found)
  return found


def _collect(node: ast.AST, name: str, found: list[Size]) -> None:
  value = folded(node)
  if value is not None:
    found.append(Size(_place(node), value, name))
    return
  for child in ast.iter_child_nodes(node):
    _collect(child, name, found)


def folded(node: ast.AST) -> int | None:
  """The value of an expression of integer literals."""
  if isinstance(node, ast.Constant):
    return node.value if type(node.value) is int else None
  if isinstance(node, ast.BinOp) and isinstance(node.op, _OPERATORS):
    left, right = folded(node.left), folded(node.right)
    if left is None or right is None:
      return None
    if isinstance(node.op, ast.Pow | ast.LShift) and not 0 <= right < 64:
      return None
    expression = ast.Expression(
      ast.BinOp(ast.Constant(left), node.op, ast.Constant(right))
    )
    ast.fix_missing_locations(expression)
    try:
      value = eval(compile(expression, "<size>", "eval"), {})
    except ZeroDivisionError:
      return None
    return value if isinstance(value, int) else None
  return None


def _place(node: ast.AST) -> str:
  return f"{node.lineno}:{node.col_offset}"


class _Replace(ast.NodeTransformer):
  def __init__(self, values: dict[str, int]):
    self._values = values

  def visit(self, node: ast.AST) -> ast.AST:
    """A constant in place of an expression whose place has another value."""
    if isinstance(node, ast.expr) and folded(node) is not None:
      value = self._values.get(_place(node))
      if value is not None:
        return ast.copy_location(ast.Constant(value), node)
      return node
    return self.generic_visit(node)


def code(source: str, values: dict[str, int], filename: str):
  """The compiled text with other sizes; its lines stay where they are."""
  tree = ast.parse(source, filename)
  if values:
    tree = ast.fix_missing_locations(_Replace(values).visit(tree))
  return compile(tree, filename, "exec")


def matching(
  source: str, reference: str, values: dict[str, int]
) -> dict[str, int]:
  """The same changes for a candidate's text, by the names of its sizes.

  A candidate often repeats the reference's constants. Those with the name and
  the value of one that has been changed are changed like it.
  """
  changed = {
    (s.name, s.value): values[s.place]
    for s in find(reference)
    if s.name and s.place in values
  }
  return {
    s.place: changed[s.name, s.value]
    for s in find(source)
    if (s.name, s.value) in changed
  }
