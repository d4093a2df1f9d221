"""Tasks on matrices: transposition and multiplication."""

import math

from jaxkern.tasks import recipe as rc
from jaxkern.tasks import vendor
from jaxkern.tasks.recipe import Recipe
from jaxkern.tasks.task import Task, launch_signature, parameter

# Form, activation, split.
_TRANSPOSE = (
  ("x", "", "train"),
  ("x", "relu", "train"),
  ("x", "gelu", "train"),
  ("x", "silu", "train"),
  ("x", "sigmoid", "train"),
  ("x", "tanh", "train"),
  ("add", "", "train"),
  ("mul", "", "train"),
  ("axpy", "", "train"),
  ("scale", "", "test"),
)
# Bias, activation, split.
_MATMUL = (
  ("", "", "train"),
  ("", "relu", "train"),
  ("", "gelu", "train"),
  ("", "silu", "test"),
  ("", "sigmoid", "train"),
  ("", "tanh", "train"),
  ("b", "", "train"),
  ("b", "relu", "train"),
  ("b", "gelu", "train"),
  ("b", "silu", "train"),
  ("b", "sigmoid", "test"),
  ("b", "tanh", "train"),
)
_TRANSPOSE_CASES = tuple(
  {"rows": rows, "cols": cols}
  for rows, cols in ((1, 1), (3, 37), (31, 65), (64, 33), (251, 257))
)
_HIDDEN_TRANSPOSE = tuple(
  {"rows": rows, "cols": cols}
  for rows, cols in ((1, 2), (5, 33), (32, 31), (65, 127), (96, 129))
)
_MATMUL_CASES = tuple(
  {"m": m, "k": k, "n": n}
  for m, k, n in (
    (1, 1, 1),
    (3, 5, 7),
    (17, 33, 31),
    (64, 16, 65),
    (1, 127, 37),
    (97, 101, 103),
  )
)
_HIDDEN_MATMUL = tuple(
  {"m": m, "k": k, "n": n}
  for m, k, n in (
    (1, 2, 1),
    (5, 3, 11),
    (16, 31, 33),
    (67, 17, 32),
    (2, 129, 41),
    (61, 67, 71),
  )
)


def recipes() -> list[Recipe]:
  """All matrix recipes."""
  made = [_transpose(*row) for row in _TRANSPOSE]
  return made + [_matmul(*row) for row in _MATMUL]


def task(recipe: Recipe) -> Task:
  """The task of a matrix recipe."""
  if recipe.family == "transpose":
    return rc.make_task(
      recipe,
      _naive_transpose(recipe),
      _TRANSPOSE_CASES,
      _HIDDEN_TRANSPOSE,
      vendor=vendor.transpose(recipe),
    )
  return rc.make_task(
    recipe,
    _naive_matmul(recipe),
    _MATMUL_CASES,
    _HIDDEN_MATMUL,
    lambda attributes: math.sqrt(attributes["k"]),
    reduced="k",
    vendor=vendor.matmul(recipe),
  )


def _transpose(form: str, activation: str, split: str) -> Recipe:
  read = rc.FORMS[form]
  act = rc.ACTIVATIONS[activation]
  parts = ("transpose", form if form != "x" else "", activation)
  value = act.jnp.format(v=read.jnp)
  return Recipe(
    name="_".join(filter(None, parts)),
    level=2 if any(parts[1:]) else 1,
    family="transpose",
    split=split,
    summary=f"y = jnp.transpose({value})",
    arguments=rc.arguments(
      {o: ("rows", "cols") for o in ("x", *read.operands)},
      ("cols", "rows"),
      read.scalars,
    ),
    read=read.cuda,
    activation=act.cuda,
  )


def _matmul(bias: str, activation: str, split: str) -> Recipe:
  act = rc.ACTIVATIONS[activation]
  operands = {"x": ("m", "k"), "w": ("k", "n")}
  if bias:
    operands["b"] = ("n",)
  value = act.jnp.format(v="x @ w + b" if bias else "x @ w")
  return Recipe(
    name="_".join(filter(None, ("matmul", bias and "bias", activation))),
    level=2 if bias or activation else 1,
    family="matmul",
    split=split,
    summary=f"y = {value}",
    arguments=rc.arguments(operands, ("m", "n")),
    read="s + b[{c}]" if bias else "s",
    activation=act.cuda,
  )


def _naive_transpose(recipe: Recipe) -> str:
  """One thread per element."""
  value = rc.loaded(recipe, recipe.read, i="r * cols + c")
  return f"""\
__global__ void kernel({", ".join(map(parameter, recipe.arguments))}) {{
  int64_t c = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  int64_t r = blockIdx.y * (int64_t)blockDim.y + threadIdx.y;
  if (r >= rows || c >= cols) return;
  float v = {value};
  y[c * rows + r] = {recipe.activation.format(v="v")};
}}

{launch_signature(recipe.arguments)} {{
  dim3 block(16, 16);
  dim3 grid((cols + 15) / 16, (rows + 15) / 16);
  kernel<<<grid, block, 0, stream>>>(\
{", ".join(a.name for a in recipe.arguments)});
  return cudaGetLastError();
}}
"""


def _naive_matmul(recipe: Recipe) -> str:
  """One thread per output."""
  return f"""\
__global__ void kernel({", ".join(map(parameter, recipe.arguments))}) {{
  int64_t c = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  int64_t r = blockIdx.y * (int64_t)blockDim.y + threadIdx.y;
  if (r >= m || c >= n) return;
  float s = 0.0f;
  for (int64_t i = 0; i < k; ++i) {{
    s += x[r * k + i] * w[i * n + c];
  }}
  float v = {recipe.read.format(c="c")};
  y[r * n + c] = {recipe.activation.format(v="v")};
}}

{launch_signature(recipe.arguments)} {{
  dim3 block(16, 16);
  dim3 grid((n + 15) / 16, (m + 15) / 16);
  kernel<<<grid, block, 0, stream>>>(\
{", ".join(a.name for a in recipe.arguments)});
  return cudaGetLastError();
}}
"""
