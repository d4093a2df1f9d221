"""CUDA C++ as a syntax tree (tree-sitter), and text with parts replaced.

An edit asks the tree what it wants to know and replaces ranges of the text; a
text that does not parse, or that has what an edit does not understand, is left
alone: the edit answers None.
"""

import functools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import tree_sitter_cuda
from tree_sitter import Language, Node, Parser

# What makes threads depend on each other, or an order of statements matter.
COOPERATIVE = frozenset(
  ("__syncthreads", "__syncwarp", "__shared__", "this_thread_block")
)
_COOPERATIVE_PREFIXES = ("__shfl", "__ballot", "__any", "__all", "__match")


class Loop(NamedTuple):
  """`for (type name = start; name < end; ++name) body`.

  Attributes:
    node: the whole statement.
    type, name, start, end: texts.
    body: the statements.
  """

  node: Node
  type: str
  name: str
  start: str
  end: str
  body: list[Node]


class Kernel(NamedTuple):
  """A `__global__` function with one thread per index.

  Attributes:
    node: the definition.
    name: its name.
    index: the variable with the global thread index.
    count: text of how many threads have work.
    type: of the index.
    head: declaration of the index and the guard; replaced by edits.
    body: the statements after it.
  """

  node: Node
  name: str
  index: str
  count: str
  type: str
  head: tuple[Node, Node]
  body: list[Node]


@functools.cache
def _parser() -> Parser:
  return Parser(Language(tree_sitter_cuda.language()))


def parse(source: str) -> Node | None:
  """The tree of a translation unit; None if it has syntax errors."""
  root = _parser().parse(source.encode()).root_node
  return None if root.has_error else root


def text(node: Node) -> str:
  """What a node stands for."""
  return node.text.decode()


def walk(node: Node) -> Iterator[Node]:
  """The node and all below it, in the order of the text."""
  yield node
  for child in node.children:
    yield from walk(child)


def find(node: Node, *types: str) -> list[Node]:
  """Nodes of some types, in the order of the text."""
  return [n for n in walk(node) if n.type in types]


def names(node: Node) -> set[str]:
  """Identifiers in a piece of code."""
  return {text(n) for n in walk(node) if n.type == "identifier"}


def replaced(source: str, edits: list[tuple[int, int, str]]) -> str:
  """The source with ranges (bytes) replaced; they must not overlap."""
  data = source.encode()
  for start, end, new in sorted(edits, reverse=True):
    data = data[:start] + new.encode() + data[end:]
  return data.decode()


def rewrite(node: Node, change: Callable[[Node], str | None]) -> str:
  """The node's text, with what `change` gives for a node in its place."""
  edits: list[tuple[int, int, str]] = []

  def visit(at: Node) -> None:
    """Outermost replacements win."""
    new = change(at)
    if new is not None:
      edits.append(
        (at.start_byte - node.start_byte, at.end_byte - node.start_byte, new)
      )
      return
    for child in at.children:
      visit(child)

  visit(node)
  return replaced(text(node), edits)


def substitute(node: Node, values: dict[str, str]) -> str:
  """The node's text with identifiers replaced."""
  return rewrite(
    node,
    lambda n: values.get(text(n)) if n.type == "identifier" else None,
  )


def functions(root: Node) -> list[Node]:
  """Definitions of functions."""
  return find(root, "function_definition")


def is_global(function: Node) -> bool:
  """Whether it is a kernel."""
  head = text(function).partition("{")[0]
  return "__global__" in head.split("(")[0].split()


def name_of(function: Node) -> str:
  """The function's name."""
  declarator = function.child_by_field_name("declarator")
  while declarator is not None and declarator.type != "identifier":
    declarator = declarator.child_by_field_name("declarator")
  return text(declarator) if declarator is not None else ""


def statements(block: Node) -> list[Node]:
  """The statements of a compound statement, or a single one; no comments."""
  if block.type != "compound_statement":
    return [block]
  return [n for n in block.named_children if n.type != "comment"]


def cooperates(node: Node) -> bool:
  """Whether threads meet or share memory in a piece of code."""
  words = {text(n) for n in walk(node) if not n.children}
  return bool(words & COOPERATIVE) or any(
    w.startswith(_COOPERATIVE_PREFIXES) for w in words
  )


def loop_of(node: Node) -> Loop | None:
  """A counting loop in steps of one; None for other statements."""
  if node.type != "for_statement":
    return None
  first = node.child_by_field_name("initializer")
  condition = node.child_by_field_name("condition")
  update = node.child_by_field_name("update")
  body = node.child_by_field_name("body")
  if None in (first, condition, update, body) or first.type != "declaration":
    return None
  declarator = first.child_by_field_name("declarator")
  if declarator.type != "init_declarator" or len(first.named_children) != 2:
    return None
  name = text(declarator.child_by_field_name("declarator"))
  if text(update).replace(" ", "") not in (f"++{name}", f"{name}++"):
    return None
  operator = condition.child_by_field_name("operator")
  if operator is None or operator.type != "<":
    return None
  left, right = (condition.child_by_field_name(s) for s in ("left", "right"))
  if text(left) != name or name in names(right):
    return None
  return Loop(
    node,
    text(first.child_by_field_name("type")),
    name,
    text(declarator.child_by_field_name("value")),
    text(right),
    statements(body),
  )


def kernels(root: Node) -> list[Kernel]:
  """Kernels that begin with an index and `if (index >= count) return;`."""
  found = []
  for node in functions(root):
    if not is_global(node) or node.has_error:
      continue
    body = statements(node.child_by_field_name("body"))
    if len(body) < 3 or find(node, "lambda_expression", "goto_statement"):
      continue
    index = _index(body[0])
    count = _guard(body[1], index[1]) if index else None
    if count is None or any(
      find(statement, "return_statement") for statement in body[2:]
    ):
      continue
    found.append(
      Kernel(
        node,
        name_of(node),
        index[1],
        count,
        index[0],
        (body[0], body[1]),
        body[2:],
      )
    )
  return found


def _index(node: Node) -> tuple[str, str] | None:
  """(type, name) of `T i = blockIdx.x * blockDim.x + threadIdx.x`."""
  if node.type != "declaration":
    return None
  declarator = node.child_by_field_name("declarator")
  if declarator is None or declarator.type != "init_declarator":
    return None
  value = declarator.child_by_field_name("value")
  fields = sorted(text(n) for n in find(value, "field_expression"))
  if fields != ["blockDim.x", "blockIdx.x", "threadIdx.x"]:
    return None
  others = {text(n) for n in walk(value) if n.type == "number_literal"}
  name = declarator.child_by_field_name("declarator")
  if others or name.type != "identifier":
    return None
  return text(node.child_by_field_name("type")), text(name)


def _guard(node: Node, index: str) -> str | None:
  """`count` of `if (index >= count) return;`."""
  if node.type != "if_statement" or node.child_by_field_name("alternative"):
    return None
  inside = statements(node.child_by_field_name("consequence"))
  condition = node.child_by_field_name("condition").child_by_field_name("value")
  if len(inside) != 1 or inside[0].type != "return_statement":
    return None
  operator = condition.child_by_field_name("operator")
  if operator is None or operator.type != ">=":
    return None
  if text(condition.child_by_field_name("left")) != index:
    return None
  return text(condition.child_by_field_name("right"))


class Launch(NamedTuple):
  """`kernel<<<grid, block, ...>>>(...)`.

  Attributes:
    node: the call.
    kernel: its name.
    grid, block: nodes of the first two parts.
    arguments: texts.
  """

  node: Node
  kernel: str
  grid: Node
  block: Node
  arguments: list[str]


def launches(root: Node) -> list[Launch]:
  """All launches, in the order of the text."""
  found = []
  for syntax in find(root, "kernel_call_syntax"):
    call = syntax.parent
    parts = [n for n in syntax.named_children if n.type != "comment"]
    arguments = call.child_by_field_name("arguments").named_children
    if len(parts) >= 2:
      function = call.child_by_field_name("function")
      found.append(
        Launch(
          call,
          text(function),
          parts[0],
          parts[1],
          [text(a) for a in arguments if a.type != "comment"],
        )
      )
  return found


def parameters(function: Node) -> list[tuple[str, str]]:
  """(type with stars, name) of a function's parameters."""
  found = []
  for node in find(
    function.child_by_field_name("declarator"), "parameter_declaration"
  ):
    declared = [text(n) for n in find(node, "identifier")]
    if declared:
      name = declared[-1]
      found.append((text(node)[: text(node).rindex(name)].strip(), name))
  return found
