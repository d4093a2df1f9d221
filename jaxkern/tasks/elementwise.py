"""Elementwise tasks: y[i] = after(activation(form))."""

import itertools

from jaxkern.tasks import recipe as rc
from jaxkern.tasks.recipe import Recipe
from jaxkern.tasks.task import Task, launch_signature, parameter

# Form and activation of the test tasks; every other pair is for training.
_TEST = {
  ("add", "gelu"),
  ("mul", "silu"),
  ("bias", "silu"),
  ("scale", "relu"),
}
# Activation and what follows it, of the test tasks.
_TEST_AFTER = {("sigmoid", "gate"), ("tanh", "add")}
# Form, activation, dtype, split.
_DTYPES = (
  ("x", "relu", "float16", "train"),
  ("add", "", "float16", "train"),
  ("mul", "", "bfloat16", "train"),
  ("scale", "", "bfloat16", "train"),
  ("scale", "", "float16", "train"),
  ("add", "", "bfloat16", "train"),
  ("x", "relu", "bfloat16", "train"),
  ("add", "", "int32", "train"),
  ("mul", "", "float16", "test"),
)
_SUFFIX = {
  "float32": "",
  "float16": "_f16",
  "bfloat16": "_bf16",
  "int32": "_int32",
}
_FLAT = tuple({"n": n} for n in (1, 31, 257, 1000, 4099, 65537))
_HIDDEN_FLAT = tuple({"n": n} for n in (2, 33, 509, 2048, 10007, 30011))
_ROWS = tuple(
  {"rows": rows, "cols": cols}
  for rows, cols in ((1, 1), (3, 31), (17, 64), (37, 101), (257, 251))
)
_HIDDEN_ROWS = tuple(
  {"rows": rows, "cols": cols}
  for rows, cols in ((1, 2), (5, 29), (32, 33), (13, 307), (127, 96))
)


def recipes() -> list[Recipe]:
  """All elementwise recipes."""
  made = []
  for form, activation in itertools.product(rc.FORMS, rc.ACTIVATIONS):
    split = "test" if (form, activation) in _TEST else "train"
    if (form, activation) != ("x", ""):
      made.append(_recipe(split, form, activation))
  for activation, after in itertools.product(rc.ACTIVATIONS, ("gate", "add")):
    split = "test" if (activation, after) in _TEST_AFTER else "train"
    if activation not in ("", "clamp"):
      made.append(_recipe(split, "x", activation, after))
  for form, activation, dtype, split in _DTYPES:
    made.append(_recipe(split, form, activation, dtype=dtype))
  return made


def task(recipe: Recipe) -> Task:
  """The task of an elementwise recipe."""
  if "rows" in rc.sizes(recipe):
    return rc.make_task(recipe, _baseline(recipe), _ROWS, _HIDDEN_ROWS)
  return rc.make_task(recipe, _baseline(recipe), _FLAT, _HIDDEN_FLAT)


def _recipe(split, form, activation, after="", dtype="float32") -> Recipe:
  read = rc.FORMS[form]
  act = rc.ACTIVATIONS[activation]
  post = rc.AFTER[after]
  operands = ("x", *read.operands, *post.operands)
  full = ("rows", "cols") if "b" in operands else ("n",)
  summary = post.jnp.format(v=act.jnp.format(v=read.jnp))
  if after:
    name = f"gated_{activation}" if after == "gate" else f"{activation}_{after}"
  else:
    name = "_".join(filter(None, (form if form != "x" else "", activation)))
  return Recipe(
    name=name + _SUFFIX[dtype],
    level=2 if after or (form != "x" and activation) else 1,
    family="elementwise",
    split=split,
    summary=f"y = {summary}",
    arguments=rc.arguments(
      {o: ("cols",) if o == "b" else full for o in operands},
      full,
      (*read.scalars, *act.scalars),
      dtype,
    ),
    read=read.cuda,
    activation=act.cuda,
    result=post.cuda,
  )


def _baseline(recipe: Recipe) -> str:
  """One thread per element, 256 threads per block."""
  parameters = ", ".join(map(parameter, recipe.arguments))
  names = ", ".join(a.name for a in recipe.arguments)
  count = " * ".join(rc.sizes(recipe))
  value = rc.loaded(recipe, recipe.read, i="i", c="i % cols")
  result = recipe.result.format(v=recipe.activation, i="i", c="i % cols")
  result = rc.stored(recipe, result.format(v="v"))
  return f"""\
__global__ void kernel({parameters}) {{
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i >= {count}) return;
  {rc.scalar_type(recipe)} v = {value};
  y[i] = {result};
}}

{launch_signature(recipe.arguments)} {{
  int64_t count = {count};
  kernel<<<(count + 255) / 256, 256, 0, stream>>>({names});
  return cudaGetLastError();
}}
"""
