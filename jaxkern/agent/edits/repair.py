"""Edits that may mend a kernel which does not compile or answers wrongly.

Each looks at the status, the log and the syntax, and offers sources; whether
one of them is right the evaluator says.
"""

import re
from collections.abc import Iterator

from jaxkern.agent.edits.syntax import (
  find,
  functions,
  is_global,
  launches,
  loop_of,
  parse,
  replaced,
  text,
)

THOUGHTS = {
  "semicolon": "a statement lacked its end",
  "include": "a header was missing",
  "guard": "threads beyond the last element must not work",
  "round_up": "a grid that is rounded down leaves the last elements out",
  "bound": "a loop went one step too far",
  "barrier": "shared memory was read before others had written it",
  "return": "launch must return the runtime's error",
  "block": "more threads in a block than the device has",
  "brace": "a block was not closed",
}
_HEADERS = (
  ("half", "cuda_fp16.h"),
  ("bfloat16", "cuda_bf16.h"),
  ("cooperative_groups", "cooperative_groups.h"),
  ("FLT_MAX", "cfloat"),
  ("INT_MAX", "climits"),
)
_LINE = re.compile(r"(?:kernel\.cu|line)[: (]+(\d+)")


def repairs(source: str, status: str, log: str) -> Iterator[tuple[str, str]]:
  """(name, source) of edits that may mend it, the likeliest first."""
  if status in ("compile_error", "link_error"):
    edits = (_semicolon, _include, _brace, _return)
  elif status in ("launch_error", "runtime_error", "timeout"):
    edits = (_block, _guard, _bound, _round_up, _barrier)
  elif status in ("wrong_answer", "nonfinite"):
    edits = (_round_up, _guard, _bound, _barrier)
  else:
    return
  seen = {source}
  for edit in edits:
    for made in edit(source, log):
      if made not in seen:
        seen.add(made)
        yield edit.__name__.lstrip("_"), made


def _semicolon(source: str, log: str) -> Iterator[str]:
  if "expected" not in log:
    return
  lines = source.split("\n")
  for number in dict.fromkeys(int(n) for n in _LINE.findall(log)):
    for k in (number - 1, number - 2):
      if 0 <= k < len(lines):
        line = lines[k].rstrip()
        if line and line[-1] not in ";{},(:/*#" and not line.startswith("#"):
          yield "\n".join([*lines[:k], line + ";", *lines[k + 1 :]])


def _include(source: str, log: str) -> Iterator[str]:
  for word, header in _HEADERS:
    if word in log and f"<{header}>" not in source:
      yield f"#include <{header}>\n{source}"


def _brace(source: str, log: str) -> Iterator[str]:
  missing = source.count("{") - source.count("}")
  if missing != 1:
    return
  # Before the next function, or at the end.
  at = source.find('extern "C"')
  for place in (at, len(source)) if at > 0 else (len(source),):
    made = source[:place].rstrip() + "\n}\n\n" + source[place:]
    if parse(made) is not None:
      yield made


def _return(source: str, log: str) -> Iterator[str]:
  root = parse(source)
  for function in functions(root) if root else ():
    if "launch" in text(function).partition("{")[0].split("(")[0].split():
      body = function.child_by_field_name("body")
      if not find(body, "return_statement"):
        end = body.end_byte - 1
        yield replaced(source, [(end, end, "  return cudaGetLastError();\n")])


def _block(source: str, log: str) -> Iterator[str]:
  root = parse(source)
  for launch in launches(root) if root else ():
    for number in find(launch.block, "number_literal"):
      if text(number).isdigit() and int(text(number)) > 1024:
        yield re.sub(rf"\b{text(number)}\b", "256", source)


def _guard(source: str, log: str) -> Iterator[str]:
  """`if (i >= n) return;` after an index that no guard follows."""
  root = parse(source)
  for function in functions(root) if root else ():
    if not is_global(function):
      continue
    declarations = find(function.child_by_field_name("body"), "declaration")
    for node in declarations[:1]:
      if "threadIdx.x" not in text(node) or "blockDim.x" not in text(node):
        continue
      name = text(find(node, "init_declarator")[0].named_children[0])
      parameters = function.child_by_field_name("declarator")
      sizes = [
        text(n.child_by_field_name("declarator"))
        for n in find(parameters, "parameter_declaration")
        if "int" in text(n.child_by_field_name("type")) and "*" not in text(n)
      ]
      for count in (" * ".join(sizes), *sizes):
        if count:
          guard = f"\n  if ({name} >= {count}) return;"
          yield replaced(source, [(node.end_byte, node.end_byte, guard)])


def _round_up(source: str, log: str) -> Iterator[str]:
  """`n / 256` blocks become `(n + 255) / 256`."""
  root = parse(source)
  if root is None:
    return
  for launch in launches(root):
    grid, block = launch.grid, text(launch.block)
    for division in find(grid, "binary_expression"):
      left, sign, right = (
        division.child_by_field_name(f) for f in ("left", "operator", "right")
      )
      if sign.type == "/" and text(right) == block and "+" not in text(left):
        new = f"({text(left)} + {block} - 1) / {block}"
        yield replaced(source, [(division.start_byte, division.end_byte, new)])


def _bound(source: str, log: str) -> Iterator[str]:
  """`<=` of a loop or a guard becomes `<`, and `>` of a guard `>=`."""
  root = parse(source)
  if root is None:
    return
  for node in find(root, "for_statement"):
    condition = node.child_by_field_name("condition")
    if loop_of(node) is None and condition is not None:
      sign = condition.child_by_field_name("operator")
      if sign is not None and sign.type == "<=":
        yield replaced(source, [(sign.start_byte, sign.end_byte, "<")])
  for node in find(root, "if_statement"):
    if find(node.child_by_field_name("consequence"), "return_statement"):
      for sign in (
        n
        for n in node.child_by_field_name("condition")
        .named_children[0]
        .children
        if n.type == ">"
      ):
        yield replaced(source, [(sign.start_byte, sign.end_byte, ">=")])


def _barrier(source: str, log: str) -> Iterator[str]:
  """A barrier after statements that store to shared memory."""
  root = parse(source)
  if root is None:
    return
  shared = {
    text(find(d, "identifier")[0])
    for d in find(root, "declaration")
    if "__shared__" in text(d) and find(d, "identifier")
  }
  edits = []
  for node in find(root, "assignment_expression"):
    target = node.child_by_field_name("left")
    stores = (
      target.type == "subscript_expression"
      and text(find(target, "identifier")[0]) in shared
    )
    statement = node.parent
    if stores and statement.parent.type == "compound_statement":
      following = statement.next_named_sibling
      if following is None or "__syncthreads" not in text(following):
        if (
          following is not None
          and shared & {text(n) for n in find(following, "identifier")}
          and following.type == "expression_statement"
          and (
            find(following, "subscript_expression")
            and text(find(following, "identifier")[0]) in shared
          )
        ):
          continue  # Still loading.
        edits.append(
          (statement.end_byte, statement.end_byte, "\n__syncthreads();")
        )
  if edits:
    yield replaced(source, edits)
  for edit in edits if len(edits) > 1 else ():
    yield replaced(source, [edit])
