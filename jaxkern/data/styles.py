"""How a kernel is written down: the choices people differ in.

A style and a recipe (jaxkern.tasks.recipe) determine a source; the writers are
in `kernels` and `row_kernels`.
"""

import re
from typing import NamedTuple

import numpy as np

from jaxkern.tasks import recipe as rc
from jaxkern.tasks.recipe import Recipe
from jaxkern.tasks.task import launch_signature, parameter

ALGORITHMS = {
  "elementwise": ("thread", "stride"),
  "row_reduction": ("thread", "block", "warp"),
  "row_normalisation": ("thread", "thread", "block", "warp"),
  "matvec": ("thread", "block", "warp"),
  "transpose": ("plane", "flat", "tile"),
  "matmul": ("plane", "flat", "tile"),
}
_COMMENTS = {
  "thread": "// One thread per output.",
  "stride": "// Grid-stride loop.",
  "block": "// One block per row.",
  "warp": "// One warp per row.",
  "plane": "// One thread per element of a 2D grid.",
  "flat": "// One thread per element.",
  "tile": "// Through shared memory tiles.",
}


class Style(NamedTuple):
  """One way to write a kernel.

  Attributes:
    algorithm: one of ALGORITHMS[family].
    block: threads per block (of a tile: the tile's side squared).
    index: 'int' or 'int64_t'.
    name: of the kernel.
    restrict: pointers are __restrict__.
    helper: activations and reductions are __device__ functions.
    guard: 'return' early, or 'if' around the body.
    named_grid: the launch configuration has names.
    comment: a line says what the kernel does.
  """

  algorithm: str
  block: int
  index: str
  name: str
  restrict: bool
  helper: bool
  guard: str
  named_grid: bool
  comment: bool


def draw(family: str, rng: np.random.Generator) -> Style:
  """A random style for a family of tasks."""
  algorithm = _pick(rng, ALGORITHMS[family])
  if algorithm in ("plane", "tile"):
    block = _pick(rng, (64, 256))
  elif algorithm == "warp":
    block = _pick(rng, (32, 128, 256))
  elif algorithm == "block":
    block = _pick(rng, (64, 128, 256))
  else:
    block = _pick(rng, (128, 256, 512))
  return Style(
    algorithm=algorithm,
    block=block,
    index=_pick(rng, ("int", "int64_t")),
    name=_pick(rng, ("kernel", "compute", "run")),
    restrict=rng.random() < 0.2,
    helper=rng.random() < 0.5,
    guard=_pick(rng, ("return", "if")),
    named_grid=rng.random() < 0.35,
    comment=rng.random() < 0.25,
  )


def _pick(rng: np.random.Generator, options: tuple):
  return options[rng.integers(len(options))]


def side(style: Style) -> int:
  """Side of a square block."""
  return 8 if style.block == 64 else 16


def value(recipe: Recipe, style: Style, **indices: str) -> tuple[list, str]:
  """Statements and an expression for one element after its activation."""
  read = rc.loaded(recipe, recipe.read, **indices)
  if recipe.activation == "{v}":
    return [], read
  if style.helper:
    return [], f"f({', '.join([read, *_bounds(recipe)])})"
  setup = [] if read == "s" else [f"float v = {read};"]
  return setup, recipe.activation.format(v="s" if read == "s" else "v")


def _bounds(recipe: Recipe) -> list[str]:
  """The scalars that the activation uses."""
  return re.findall(r"\b(?:lo|hi)\b", recipe.activation)


def source(
  recipe: Recipe,
  style: Style,
  body: list[str],
  grid: str,
  block: str,
  helpers: str = "",
) -> str:
  """A translation unit from the kernel's body and its launch configuration.

  `grid` and `block` are C++ expressions; extents of two dimensions are
  separated by ' | '.
  """
  head = rc.HEADERS.get(rc.dtype(recipe), "")
  if style.helper and recipe.activation != "{v}":
    parameters = ", ".join(f"float {name}" for name in ["v", *_bounds(recipe)])
    head += (
      f"__device__ float f({parameters}) {{\n"
      f"  return {recipe.activation.format(v='v')};\n}}\n\n"
    )
  if style.comment:
    helpers += _COMMENTS[style.algorithm] + "\n"
  names = ", ".join(a.name for a in recipe.arguments)
  lines = "\n".join("  " + line for line in body)
  return f"""\
{head}{helpers}__global__ void {style.name}({_parameters(recipe, style)}) {{
{lines}
}}

{launch_signature(recipe.arguments)} {{
{_configure(style, grid, block)}({names});
  return cudaGetLastError();
}}
"""


def _parameters(recipe: Recipe, style: Style) -> str:
  texts = []
  for argument in recipe.arguments:
    text = parameter(argument)
    if argument.kind != "attribute" and style.restrict:
      text = text.replace("* ", "* __restrict__ ")
    elif argument.dtype == "int64":
      text = f"{style.index} {argument.name}"
    texts.append(text)
  return ", ".join(texts)


def _configure(style: Style, grid: str, block: str) -> str:
  """The launch up to its argument list."""
  plane = " | " in block
  grid, block = grid.replace(" | ", ", "), block.replace(" | ", ", ")
  if not style.named_grid:
    if plane:
      grid, block = f"dim3({grid})", f"dim3({block})"
    return f"  {style.name}<<<{grid}, {block}, 0, stream>>>"
  if plane:
    lines = f"  dim3 block({block});\n  dim3 grid({grid});\n"
  else:
    divisor = f"+ {int(block) - 1}) / {block}"
    grid = grid.replace(divisor, "+ block - 1) / block")
    lines = f"  int block = {block};\n  int grid = {grid};\n"
  return f"{lines}  {style.name}<<<grid, block, 0, stream>>>"


def ceil_div(count: str, by: int) -> str:
  """E.g. '(n + 255) / 256'."""
  return f"({count} + {by - 1}) / {by}"


def repeat(head: str, body: list[str]) -> list[str]:
  """A loop or condition, without braces around a single statement."""
  if len(body) == 1:
    return [f"{head} {body[0]}"]
  return [head + " {", *("  " + line for line in body), "}"]


def guarded(style: Style, inside: str, outside: str, body: list[str]):
  """`body` under a bounds check, in the style's way."""
  if style.guard == "return":
    return [f"if ({outside}) return;", *body]
  return repeat(f"if ({inside})", body)
