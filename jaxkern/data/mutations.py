"""Mistakes that models make, made on purpose in a correct source.

Each mutation maps (source, recipe, rng) to a broken source, or None where it
does not apply. All of them yield something the evaluator must refuse; that it
does is checked before an attempt enters a corpus.
"""

import re
from collections.abc import Callable

import numpy as np

from jaxkern.tasks import recipe as rc
from jaxkern.tasks.recipe import Recipe

Mutation = Callable[[str, Recipe, np.random.Generator], str | None]

_SIZES = r"(?:rows \* cols|m \* n|rows|cols|n|m|k)"
_DECLARATION = r"\n *(?:int|int64_t|float) \w+ = [^\n]*;(?=\n)"


def mutate(source: str, recipe: Recipe, rng: np.random.Generator) -> str:
  """A broken version of a correct source, by a random applicable mistake."""
  for index in rng.permutation(len(MUTATIONS)):
    broken = MUTATIONS[index](source, recipe, rng)
    if broken is not None and broken != source:
      return broken
  raise AssertionError("every source can lose a semicolon")


def _replace(
  source: str,
  rng: np.random.Generator,
  pattern: str,
  replacement: str,
) -> str | None:
  """Replaces one random match of a pattern."""
  matches = list(re.finditer(pattern, source))
  if not matches:
    return None
  match = matches[rng.integers(len(matches))]
  return (
    source[: match.start()] + match.expand(replacement) + source[match.end() :]
  )


# Mistakes that the compiler finds.


def missing_semicolon(source, recipe, rng):
  """Loses the semicolon that ends a line."""
  return _replace(source, rng, r";\n", r"\n")


def missing_brace(source, recipe, rng):
  """Loses a closing brace that stands alone."""
  return _replace(source, rng, r"\n *\}(?=\n)", "")


def missing_declaration(source, recipe, rng):
  """Loses the line that declares a variable."""
  return _replace(source, rng, _DECLARATION, "")


def undeclared_argument(source, recipe, rng):
  """Calls an input by a name it does not have."""
  name = ("input", "a_ptr", "data")[rng.integers(3)]
  return _replace(source, rng, r"\bx(?=\[)", name)


def imagined_function(source, recipe, rng):
  """Calls an activation that CUDA does not have."""
  for name in ("relu", "gelu", "silu", "sigmoid"):
    for v in "vs":
      text = rc.ACTIVATIONS[name].cuda.format(v=v)
      if name in recipe.name and text in source:
        return source.replace(text, f"{name}({v})")
  return None


def swapped_call(source, recipe, rng):
  """Passes the output where the kernel takes the first input."""
  return _replace(source, rng, r">>>\(x, (.*)y,", r">>>(y, \1x,")


def missing_call_argument(source, recipe, rng):
  """Passes one argument too few to the kernel."""
  return _replace(source, rng, r"(>>>\(.*), \w+\);", r"\1);")


def reordered_signature(source, recipe, rng):
  """Puts the output first in `launch`."""
  pattern = r"launch\((.*?), (\w+\* y)"
  return _replace(source, rng, pattern, r"launch(\2, \1")


def missing_linkage(source, recipe, rng):
  """Forgets that `launch` is extern "C"."""
  return source.replace('extern "C" int', "int")


def void_launch(source, recipe, rng):
  """Makes `launch` return nothing."""
  source = source.replace('extern "C" int', 'extern "C" void')
  return source.replace("  return cudaGetLastError();\n", "")


# Mistakes that only running finds.


def off_by_one(source, recipe, rng):
  """Stops one short of an extent."""
  return _replace(
    source, rng, rf"([<>]=? {_SIZES})(?=\)|;| )(?! \*)", r"\1 - 1"
  )


def wrong_operator(source, recipe, rng):
  """Combines the operands of the element with another operator."""
  swaps = {" + z[": " * z[", " * z[": " + z[", " + b[": " * b[", "a * ": "a + "}
  found = [k for k in swaps if k in recipe.read + recipe.result and k in source]
  if not found:
    return None
  old = found[rng.integers(len(found))]
  return source.replace(old, swaps[old])


def other_activation(source, recipe, rng):
  """Computes another activation, or none."""
  names = [name for name in rc.ACTIVATIONS if name != "clamp"]
  for name in names:
    for v in "vs":
      text = rc.ACTIVATIONS[name].cuda.format(v=v)
      if name and name in recipe.name and text in source:
        others = [other for other in names if other != name]
        other = others[rng.integers(len(others))]
        return source.replace(text, rc.ACTIVATIONS[other].cuda.format(v=v))
  return None


def forgotten_accumulation(source, recipe, rng):
  """Overwrites the accumulator instead of adding to it."""
  return _replace(source, rng, r"\b([ms]) \+= ", r"\1 = ")


def wrong_start(source, recipe, rng):
  """Starts a reduction from the wrong value."""
  if recipe.name.startswith("row_max"):
    return source.replace("= -INFINITY", "= 0.0f")
  return _replace(source, rng, r"\b(s|m) = 0(?=\.0f;|;)", r"\1 = 1")


def forgotten_finish(source, recipe, rng):
  """Leaves out the last step of a reduction."""
  finishes = (" / cols;", "  m /= cols;\n", "sqrtf(s)", " / cols + 1e-5f")
  for text in finishes:
    if text in source:
      rest = {"sqrtf(s)": "s", " / cols;": ";"}.get(text, "")
      return source.replace(text, rest)
  return None


def wrong_index(source, recipe, rng):
  """Takes the wrong stride or the wrong coordinate."""
  swaps = (
    ("x[r * cols + c]", "x[r * rows + c]"),
    ("b[i % cols]", "b[i / cols]"),
    ("y[c * rows + r]", "y[r * cols + c]"),
    ("y[i % cols * rows + i / cols]", "y[i]"),
    ("w[i * n + c]", "w[c * k + i]"),
    ("r * k + i", "i * m + r"),
    ("w[(t + i) * n + c]", "w[(t + i) * k + c]"),
    ("t[threadIdx.x][threadIdx.y]", "t[threadIdx.y][threadIdx.x]"),
  )
  found = [swap for swap in swaps if swap[0] in source]
  if not found:
    return None
  return source.replace(*found[rng.integers(len(found))])


def missing_barrier(source, recipe, rng):
  """Loses a barrier that separates writing shared memory from reading it."""
  pattern = r"(?<!= t\[0\];)\n *__syncthreads\(\);"
  return _replace(source, rng, pattern, "")


def block_too_large(source, recipe, rng):
  """Asks for more threads per block than a device has."""
  source = re.sub(r"dim3( block)?\((16, 16|8, 8)\)", r"dim3\1(64, 64)", source)
  source = re.sub(r"int block = \d+;", "int block = 2048;", source)
  return re.sub(
    r", (32|64|128|256|512), 0, stream", ", 2048, 0, stream", source
  )


def rounded_down_grid(source, recipe, rng):
  """Launches too few blocks unless the size is a multiple of the block."""
  pattern = r"\(([\w* ]+) \+ (?:\d+|block - 1)\) / (\w+)"

  def floor(match: re.Match) -> str:
    count, block = match.groups()
    return f"({count}) / {block}" if " " in count else f"{count} / {block}"

  return re.sub(pattern, floor, source)


MUTATIONS: tuple[Mutation, ...] = (
  missing_semicolon,
  missing_brace,
  missing_declaration,
  undeclared_argument,
  imagined_function,
  swapped_call,
  missing_call_argument,
  reordered_signature,
  missing_linkage,
  void_launch,
  off_by_one,
  wrong_operator,
  other_activation,
  forgotten_accumulation,
  wrong_start,
  forgotten_finish,
  wrong_index,
  missing_barrier,
  block_too_large,
  rounded_down_grid,
)
