"""Edits of single words: qualifiers, types, functions, block sizes.

restrict   promises that arrays do not overlap
int32      indices of 32 bits in kernels (sizes below 2^31)
compare    fmaxf and fminf as comparisons, which vectors have (no NaN treated)
exponent   expf by a polynomial in plain arithmetic, right to 2 units in the
           last place: vectors of it, and no table
intrinsic  __expf and the like, which a GPU has in hardware
block      threads per block
"""

from tree_sitter import Node

from jaxkern.agent.edits.syntax import (
  find,
  functions,
  is_global,
  launches,
  name_of,
  parse,
  replaced,
  text,
)

_LARGER = """\
__device__ __forceinline__ float larger(float a, float b) {
  return a > b ? a : b;
}
__device__ __forceinline__ float smaller(float a, float b) {
  return a < b ? a : b;
}

"""
# exp(x) = 2^k exp(r), r = x - k ln 2 in two steps; k is rounded by adding and
# subtracting 1.5 * 2^23. Beyond its range: 0 and infinity; NaN stays NaN.
_NEAR_EXP = """\
__device__ __forceinline__ float near_exp(float x) {
  float bounded = x < -87.0f ? -87.0f : x > 88.0f ? 88.0f : x;
  float k = bounded * 1.44269504f + 12582912.0f;
  k -= 12582912.0f;
  float r = fmaf(k, -0.693145752f, bounded);
  r = fmaf(k, -1.42860677e-6f, r);
  float p = 1.37805939e-3f;
  p = fmaf(p, r, 8.37312452e-3f);
  p = fmaf(p, r, 4.16695364e-2f);
  p = fmaf(p, r, 1.66664720e-1f);
  p = fmaf(p, r, 4.99999851e-1f);
  p = fmaf(p, r, 1.0f);
  p = fmaf(p, r, 1.0f);
  float y = p * __int_as_float(((int)k + 127) << 23);
  return x < -87.0f ? 0.0f : x > 88.0f ? y * expf(x - 88.0f) : x == x ? y : x;
}

"""
_INTRINSICS = {
  "expf": "__expf",
  "logf": "__logf",
  "sinf": "__sinf",
  "cosf": "__cosf",
  "powf": "__powf",
}


def restrict(source: str) -> str | None:
  """`__restrict__` for the arrays of kernels, if no launch gives one twice."""
  root = parse(source)
  if root is None:
    return None
  twice = {
    launch.kernel
    for launch in launches(root)
    if len(set(launch.arguments)) < len(launch.arguments)
  }
  edits = []
  for function in filter(is_global, functions(root)):
    if name_of(function) in twice:
      continue
    declared = function.child_by_field_name("declarator")
    for node in find(declared, "parameter_declaration"):
      pointer = node.child_by_field_name("declarator")
      if pointer is not None and pointer.type == "pointer_declarator":
        if "__restrict__" not in text(node):
          name = pointer.child_by_field_name("declarator")
          edits.append((name.start_byte, name.start_byte, " __restrict__ "))
  return replaced(source, edits) if edits else None


def int32(source: str) -> str | None:
  """`int` for int64_t in kernels, but not for what pointers point to."""
  root = parse(source)
  if root is None:
    return None
  edits = []
  for function in filter(is_global, functions(root)):
    for node in find(function, "primitive_type", "type_identifier"):
      if text(node) in ("int64_t", "size_t") and not _of_pointer(node):
        edits.append((node.start_byte, node.end_byte, "int"))
  return replaced(source, edits) if edits else None


def _of_pointer(kind: Node) -> bool:
  owner = kind.parent
  if owner.type in ("declaration", "parameter_declaration"):
    return bool(find(owner, "pointer_declarator"))
  return bool(find(owner, "abstract_pointer_declarator"))


def _with_helper(source: str, helper: str, calls: dict[str, str]) -> str | None:
  """Calls under another name, with functions in front of the first one."""
  root = parse(source)
  if root is None:
    return None
  edits = []
  for call in find(root, "call_expression"):
    function = call.child_by_field_name("function")
    if text(function) in calls:
      edits.append(
        (function.start_byte, function.end_byte, calls[text(function)])
      )
  if not edits:
    return None
  first = functions(root)[0]
  while first.parent is not None and first.parent.type != "translation_unit":
    first = first.parent
  if helper and helper not in source:
    edits.append((first.start_byte, first.start_byte, helper))
  return replaced(source, edits)


def compare(source: str) -> str | None:
  """Maxima and minima by comparing."""
  if "larger(" in source:
    return None
  return _with_helper(source, _LARGER, {"fmaxf": "larger", "fminf": "smaller"})


def exponent(source: str) -> str | None:
  """expf as a polynomial."""
  if "near_exp(" in source:
    return None
  return _with_helper(source, _NEAR_EXP, {"expf": "near_exp"})


def intrinsic(source: str) -> str | None:
  """The fast functions of a GPU."""
  if "near_exp(" in source:
    return None
  return _with_helper(source, "", _INTRINSICS)


def block(source: str, threads: int) -> str | None:
  """Another number of threads per block, and the grid that goes with it."""
  root = parse(source)
  if root is None:
    return None
  edits = []
  for launch in launches(root):
    old = text(launch.block)
    if not old.isdigit() or int(old) == threads:
      continue
    new = {old: str(threads), str(int(old) - 1): str(threads - 1)}
    numbers = [n for n in find(launch.grid, "number_literal") if text(n) in new]
    if old not in map(text, numbers):
      continue
    edits.append((launch.block.start_byte, launch.block.end_byte, str(threads)))
    edits += [(n.start_byte, n.end_byte, new[text(n)]) for n in numbers]
  return replaced(source, edits) if edits else None
