"""Writers of elementwise, transpose and matmul kernels in any style."""

from jaxkern.data import row_kernels
from jaxkern.data.styles import (
  Style,
  ceil_div,
  guarded,
  repeat,
  side,
  source,
  value,
)
from jaxkern.tasks import recipe as rc
from jaxkern.tasks.recipe import Recipe


def write(recipe: Recipe, style: Style) -> str:
  """The source of a recipe in a style. Pure."""
  if recipe.family == "elementwise":
    return _elementwise(recipe, style)
  if recipe.family == "transpose":
    return _transpose(recipe, style)
  if recipe.family == "matmul":
    return _matmul(recipe, style)
  return row_kernels.write(recipe, style)


def _elementwise(recipe: Recipe, style: Style) -> str:
  index, block = style.index, style.block
  count = " * ".join(rc.sizes(recipe))
  setup, expression = value(recipe, style, i="i", c="i % cols")
  result = recipe.result.format(v=expression, i="i", c="i % cols")
  body = [*setup, f"y[i] = {rc.stored(recipe, result)};"]
  start = f"{index} i = blockIdx.x * blockDim.x + threadIdx.x;"
  if style.algorithm == "thread":
    body = guarded(style, f"i < {count}", f"i >= {count}", body)
  else:
    step = f"for (; i < {count}; i += blockDim.x * gridDim.x)"
    body = repeat(step, body)
  grid = "64" if style.algorithm == "stride" else ceil_div(count, block)
  return source(recipe, style, [start, *body], grid, str(block))


def _plane(style: Style) -> list[str]:
  return [
    f"{style.index} c = blockIdx.x * blockDim.x + threadIdx.x;",
    f"{style.index} r = blockIdx.y * blockDim.y + threadIdx.y;",
  ]


def _transpose(recipe: Recipe, style: Style) -> str:
  index, edge = style.index, side(style)
  grid = f"{ceil_div('cols', edge)} | {ceil_div('rows', edge)}"
  block = f"{edge} | {edge}"
  if style.algorithm == "flat":
    setup, expression = value(recipe, style, i="i")
    body = [*setup, f"y[i % cols * rows + i / cols] = {expression};"]
    start = f"{index} i = blockIdx.x * blockDim.x + threadIdx.x;"
    body = guarded(style, "i < rows * cols", "i >= rows * cols", body)
    grid = ceil_div("rows * cols", style.block)
    return source(recipe, style, [start, *body], grid, str(style.block))
  setup, expression = value(recipe, style, i="r * cols + c")
  if style.algorithm == "plane":
    body = [*setup, f"y[c * rows + r] = {expression};"]
    body = guarded(
      style, "r < rows && c < cols", "r >= rows || c >= cols", body
    )
    return source(recipe, style, [*_plane(style), *body], grid, block)
  inside = [*setup, f"t[threadIdx.y][threadIdx.x] = {expression};"]
  body = [
    f"__shared__ float t[{edge}][{edge + 1}];",
    f"{index} c = blockIdx.x * {edge} + threadIdx.x;",
    f"{index} r = blockIdx.y * {edge} + threadIdx.y;",
    *repeat("if (r < rows && c < cols)", inside),
    "__syncthreads();",
    f"r = blockIdx.y * {edge} + threadIdx.x;",
    f"c = blockIdx.x * {edge} + threadIdx.y;",
    "if (r < rows && c < cols) y[c * rows + r] = t[threadIdx.x][threadIdx.y];",
  ]
  return source(recipe, style, body, grid, block)


def _matmul(recipe: Recipe, style: Style) -> str:
  index, edge = style.index, side(style)
  setup, expression = value(recipe, style, c="c")
  store = [*setup, f"y[r * n + c] = {expression};"]
  grid = f"{ceil_div('n', edge)} | {ceil_div('m', edge)}"
  block = f"{edge} | {edge}"
  if style.algorithm == "tile":
    body = _tiled_product(index, edge)
    body += guarded(style, "r < m && c < n", "r >= m || c >= n", store)
    return source(recipe, style, body, grid, block)
  product = [
    "float s = 0.0f;",
    f"for ({index} i = 0; i < k; ++i) s += x[r * k + i] * w[i * n + c];",
    *store,
  ]
  if style.algorithm == "plane":
    body = guarded(style, "r < m && c < n", "r >= m || c >= n", product)
    return source(recipe, style, [*_plane(style), *body], grid, block)
  body = [
    f"{index} j = blockIdx.x * blockDim.x + threadIdx.x;",
    *guarded(
      style,
      "j < m * n",
      "j >= m * n",
      [f"{index} r = j / n;", f"{index} c = j % n;", *product],
    ),
  ]
  grid = ceil_div("m * n", style.block)
  return source(recipe, style, body, grid, str(style.block))


def _tiled_product(index: str, edge: int) -> list[str]:
  """Leaves row r, column c and the product s."""
  return [
    f"__shared__ float p[{edge}][{edge}];",
    f"__shared__ float q[{edge}][{edge}];",
    "int i = threadIdx.y;",
    "int j = threadIdx.x;",
    f"{index} r = blockIdx.y * {edge} + i;",
    f"{index} c = blockIdx.x * {edge} + j;",
    "float s = 0.0f;",
    f"for ({index} t = 0; t < k; t += {edge}) {{",
    "  p[i][j] = r < m && t + j < k ? x[r * k + t + j] : 0.0f;",
    "  q[i][j] = t + i < k && c < n ? w[(t + i) * n + c] : 0.0f;",
    "  __syncthreads();",
    f"  for (int l = 0; l < {edge}; ++l) s += p[i][l] * q[l][j];",
    "  __syncthreads();",
    "}",
  ]
