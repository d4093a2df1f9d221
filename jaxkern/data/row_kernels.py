"""Writers of kernels over rows: a thread, a block or a warp per row."""

from jaxkern.data.styles import Style, ceil_div, guarded, repeat, source, value
from jaxkern.tasks import recipe as rc
from jaxkern.tasks.recipe import Pass, Recipe
from jaxkern.tasks.rows import per_row


def write(recipe: Recipe, style: Style) -> str:
  """The source of a row recipe in a style. Pure."""
  make = {"thread": _thread, "block": _block, "warp": _warp}[style.algorithm]
  return make(recipe, style)


def _thread(recipe: Recipe, style: Style) -> str:
  loop = f"for ({style.index} c = 0; c < cols; ++c)"
  body = []
  for step in recipe.passes:
    body += _accumulate(recipe, style, step, loop) + _finish(step)
  body += _output(recipe, style, loop)
  start = f"{style.index} r = blockIdx.x * blockDim.x + threadIdx.x;"
  body = [start, *guarded(style, "r < rows", "r >= rows", body)]
  grid = ceil_div("rows", style.block)
  return source(recipe, style, body, grid, str(style.block))


def _warp(recipe: Recipe, style: Style) -> str:
  if style.block == 32:
    body = [f"{style.index} r = blockIdx.x;", "int lane = threadIdx.x;"]
    grid = "rows"
  else:
    warps = style.block // 32
    body = [
      f"{style.index} r = blockIdx.x * {warps} + threadIdx.x / 32;",
      "int lane = threadIdx.x % 32;",
      "if (r >= rows) return;",
    ]
    grid = ceil_div("rows", warps)
  loop = f"for ({style.index} c = lane; c < cols; c += 32)"
  helpers = {}
  shared = style.helper and len(recipe.passes) > 1
  for step in recipe.passes:
    body += _accumulate(recipe, style, step, loop)
    if shared:
      helper = f"warp_{step.combine}"
      helpers[helper] = _warp_helper(recipe, helper, step.combine)
      body.append(f"{step.name} = {helper}({step.name});")
    else:
      body += _shuffle(step.name, step.combine)
    body += _finish(step)
  body += _output(recipe, style, loop, "if (lane == 0) ")
  helpers = "".join(helpers.values())
  return source(recipe, style, body, grid, str(style.block), helpers)


def _block(recipe: Recipe, style: Style) -> str:
  number = rc.scalar_type(recipe)
  body = [
    f"__shared__ {number} t[{style.block}];",
    f"{style.index} r = blockIdx.x;",
    "int tid = threadIdx.x;",
  ]
  loop = f"for ({style.index} c = tid; c < cols; c += {style.block})"
  helpers = {}
  shared = style.helper and len(recipe.passes) > 1
  for k, step in enumerate(recipe.passes):
    body += _accumulate(recipe, style, step, loop)
    if shared:
      helper = f"block_{step.combine}"
      helpers[helper] = _block_helper(recipe, style, helper, step.combine)
      body.append(f"{step.name} = {helper}({step.name}, t);")
    else:
      body += _tree(style, step.name, step.combine)
      last = k + 1 == len(recipe.passes)
      body += [f"{step.name} = t[0];", *([] if last else ["__syncthreads();"])]
    body += _finish(step)
  body += _output(recipe, style, loop, "if (tid == 0) ")
  helpers = "".join(helpers.values())
  return source(recipe, style, body, "rows", str(style.block), helpers)


def _accumulate(recipe: Recipe, style: Style, step: Pass, loop: str):
  """Declares the accumulator and runs one thread's share of the row."""
  start = "-INFINITY" if step.combine == "max" else rc.zero(recipe)
  setup, element = value(recipe, style, i="r * cols + c", c="c")
  if step.element != "{v}":
    setup, element = _bound(setup, element), step.element.format(v="v")
  return [
    f"{rc.scalar_type(recipe)} {step.name} = {start};",
    *repeat(loop, [*setup, _update(step.name, step.combine, element)]),
  ]


def _bound(setup: list[str], expression: str) -> list[str]:
  """Statements after which v is the element."""
  if setup:
    return [*setup, f"v = {expression};"]
  return [f"float v = {expression};"]


def _update(target: str, combine: str, element: str) -> str:
  if combine == "max":
    return f"{target} = fmaxf({target}, {element});"
  return f"{target} += {element};"


def _finish(step: Pass) -> list[str]:
  return [step.finish] if step.finish else []


def _output(recipe: Recipe, style: Style, loop: str, condition: str = ""):
  indices = {"i": "r * cols + c", "c": "c", "r": "r"}
  if per_row(recipe):
    return [f"{condition}y[r] = {recipe.result.format(**indices)};"]
  setup, expression = value(recipe, style, i="r * cols + c", c="c")
  if recipe.result.count("{v}") > 1 or expression != "x[r * cols + c]":
    setup, expression = _bound(setup, expression), "v"
  result = recipe.result.format(v=expression, **indices)
  return repeat(loop, [*setup, f"y[r * cols + c] = {result};"])


def _shuffle(name: str, combine: str) -> list[str]:
  other = f"__shfl_xor_sync(0xffffffff, {name}, o)"
  head = "for (int o = 16; o > 0; o /= 2)"
  return repeat(head, [_update(name, combine, other)])


def _tree(style: Style, name: str, combine: str) -> list[str]:
  return [
    f"t[tid] = {name};",
    "__syncthreads();",
    f"for (int o = {style.block // 2}; o > 0; o /= 2) {{",
    f"  if (tid < o) {_update('t[tid]', combine, 't[tid + o]')}",
    "  __syncthreads();",
    "}",
  ]


def _warp_helper(recipe: Recipe, name: str, combine: str) -> str:
  number = rc.scalar_type(recipe)
  lines = "\n  ".join([*_shuffle("v", combine), "return v;"])
  return f"__device__ {number} {name}({number} v) {{\n  {lines}\n}}\n\n"


def _block_helper(recipe: Recipe, style: Style, name: str, combine: str) -> str:
  """Ends with a barrier, so that t can be reused."""
  number = rc.scalar_type(recipe)
  lines = [
    "int tid = threadIdx.x;",
    *_tree(style, "v", combine),
    "v = t[0];",
    "__syncthreads();",
    "return v;",
  ]
  body = "\n  ".join(lines)
  return (
    f"__device__ {number} {name}({number} v, {number}* t) {{\n  {body}\n}}\n\n"
  )
