"""Tasks over the rows of a matrix: reductions, normalisations, matvec."""

import itertools
import math
from typing import NamedTuple

from jaxkern.tasks import recipe as rc
from jaxkern.tasks import vendor
from jaxkern.tasks.recipe import Pass, Recipe
from jaxkern.tasks.task import Baseline, Task, launch_signature, parameter


class Sink(NamedTuple):
  """What is done with a row.

  Attributes:
    jnp: statement of {v}, the matrix of elements.
    passes: as in Recipe.
    result: CUDA; one value per row if it does not use {v}, else one per
      element.
    slack: factor of the absolute tolerance, 0 for the square root of the row's
      length.
  """

  jnp: str
  passes: tuple[Pass, ...]
  result: str
  slack: float = 1.0


_SOFTMAX = (Pass("m", "max", "{v}"), Pass("s", "sum", "expf({v} - m)"))
_MOMENTS = (
  Pass("m", "sum", "{v}", "m /= cols;"),
  Pass("s", "sum", "({v} - m) * ({v} - m)"),
)
SINKS = {
  "row_sum": Sink("jnp.sum({v}, axis=-1)", (Pass("s", "sum", "{v}"),), "s", 0),
  "row_max": Sink("jnp.max({v}, axis=-1)", (Pass("s", "max", "{v}"),), "s"),
  "row_mean": Sink(
    "jnp.mean({v}, axis=-1)", (Pass("s", "sum", "{v}"),), "s / cols"
  ),
  "row_norm": Sink(
    "jnp.linalg.norm({v}, axis=-1)",
    (Pass("s", "sum", "{v} * {v}"),),
    "sqrtf(s)",
  ),
  "softmax": Sink(
    "jax.nn.softmax({v}, axis=-1)", _SOFTMAX, "expf({v} - m) / s"
  ),
  "log_softmax": Sink(
    "jax.nn.log_softmax({v}, axis=-1)", _SOFTMAX, "{v} - m - logf(s)", 2
  ),
  "rms_norm": Sink(
    "{v} / jnp.sqrt(jnp.mean({v} * {v}, axis=-1, keepdims=True) + 1e-5)",
    (Pass("s", "sum", "{v} * {v}"),),
    "{v} / sqrtf(s / cols + 1e-5f)",
  ),
  # Cancellation in x - mean costs digits where a row is nearly constant.
  "layer_norm": Sink(
    "jax.nn.standardize({v}, axis=-1, epsilon=1e-5)",
    _MOMENTS,
    "({v} - m) / sqrtf(s / cols + 1e-5f)",
    16,
  ),
}

# Form and activation of what every sink is applied to.
_ELEMENTS = (
  ("x", ""),
  ("x", "relu"),
  ("x", "tanh"),
  ("x", "sigmoid"),
  ("scale", ""),
  ("add", ""),
  ("mul", ""),
  ("bias", ""),
)
# Combinations that are no tasks: a normalisation cancels the scale, and means
# of bounded values would pass when computed in float16.
_NONE = {
  ("rms_norm", "scale", ""),
  ("layer_norm", "scale", ""),
  ("row_mean", "x", "sigmoid"),
  ("softmax", "x", "sigmoid"),
  ("softmax", "x", "tanh"),
}
# Sink, form and activation of the test tasks.
_TEST = {
  ("row_mean", "x", "relu"),
  ("row_mean", "mul", ""),
  ("row_max", "scale", ""),
  ("log_softmax", "scale", ""),
  ("layer_norm", "add", ""),
}
# Bias, activation, split.
_MATVEC = (
  ("", "", "train"),
  ("b", "", "train"),
  ("", "relu", "train"),
  ("", "gelu", "train"),
  ("", "silu", "train"),
  ("", "sigmoid", "train"),
  ("", "tanh", "test"),
)
_CASES = tuple(
  {"rows": rows, "cols": cols}
  for rows, cols in ((1, 1), (33, 3), (7, 32), (4, 1023), (29, 65), (127, 509))
)
_HIDDEN = tuple(
  {"rows": rows, "cols": cols}
  for rows, cols in ((1, 2), (65, 5), (3, 64), (9, 777), (31, 33), (61, 257))
)


def recipes() -> list[Recipe]:
  """All row recipes."""
  made = []
  for sink, (form, activation) in itertools.product(SINKS, _ELEMENTS):
    split = "test" if (sink, form, activation) in _TEST else "train"
    if (sink, form, activation) not in _NONE:
      made.append(_recipe(sink, form, activation, "", split))
  for sink in ("rms_norm", "layer_norm"):
    made.append(_recipe(sink, "x", "", "gain", "train"))
  made.append(_recipe("row_sum", "x", "", "", "train", "int32"))
  return made + [_matvec(*row) for row in _MATVEC]


def per_row(recipe: Recipe) -> bool:
  """Whether the output has one value per row."""
  return "{v}" not in recipe.result


def task(recipe: Recipe) -> Task:
  """The task of a row recipe."""
  sink = SINKS["row_sum"]
  for name, candidate in SINKS.items():
    if recipe.name.startswith(name):
      sink = candidate

  def slack(attributes):
    """As make_task wants it."""
    return sink.slack or math.sqrt(attributes["cols"])

  sums = any(step.combine == "sum" for step in recipe.passes)
  return rc.make_task(
    recipe,
    _baseline(recipe),
    _CASES,
    _HIDDEN,
    slack,
    reduced="cols" if sums else "",
    vendor=_vendor(recipe),
  )


def _vendor(recipe: Recipe) -> Baseline | None:
  if recipe.family == "matvec":
    return vendor.matvec(recipe)
  if recipe.family == "row_reduction":
    return vendor.row_reduction(recipe)
  return vendor.softmax(recipe)


def _recipe(sink, form, activation, after, split, dtype="float32") -> Recipe:
  read = rc.FORMS[form]
  act = rc.ACTIVATIONS[activation]
  post = rc.AFTER[after]
  value = act.jnp.format(v=read.jnp)
  uses = SINKS[sink].jnp.count("{v}")
  bind = uses > 1 and value != "x"  # Name an expression that is used twice.
  summary = post.jnp.format(v=SINKS[sink].jnp.format(v="v" if bind else value))
  per_element = "{v}" in SINKS[sink].result
  operands = ("x", *read.operands, *post.operands)
  full = ("rows", "cols")
  parts = (sink, form if form != "x" else "", activation, after)
  return Recipe(
    name="_".join(filter(None, parts)) + ("_int32" if dtype == "int32" else ""),
    level=2 if any(parts[1:]) else 1,
    family="row_normalisation" if per_element else "row_reduction",
    split=split,
    summary=f"v = {value}; y = {summary}" if bind else f"y = {summary}",
    arguments=rc.arguments(
      {o: ("cols",) if o in "bg" else full for o in operands},
      full if per_element else ("rows",),
      (*read.scalars, *act.scalars),
      dtype,
    ),
    read=read.cuda,
    activation=act.cuda,
    passes=SINKS[sink].passes,
    result=post.cuda.replace("{v}", SINKS[sink].result),
  )


def _matvec(bias: str, activation: str, split: str) -> Recipe:
  act = rc.ACTIVATIONS[activation]
  operands = {"x": ("rows", "cols"), "w": ("cols",)}
  if bias:
    operands["b"] = ("rows",)
  summary = act.jnp.format(v="x @ w + b" if bias else "x @ w")
  return Recipe(
    name="_".join(filter(None, ("matvec", bias and "bias", activation))),
    level=2 if bias or activation else 1,
    family="matvec",
    split=split,
    summary=f"y = {summary}",
    arguments=rc.arguments(operands, ("rows",)),
    read="x[{i}] * w[{c}]",
    passes=(Pass("s", "sum", "{v}"),),
    result=act.cuda.format(v="s") + (" + b[{r}]" if bias else ""),
  )


def _baseline(recipe: Recipe) -> str:
  """One thread per row."""
  number = rc.scalar_type(recipe)
  value = rc.loaded(recipe, recipe.read, i="r * cols + c", c="c")
  value = f"{number} v = {value};"
  if recipe.activation != "{v}":
    value += f"\n    v = {recipe.activation.format(v='v')};"
  loop = f"for (int64_t c = 0; c < cols; ++c) {{\n    {value}\n"
  lines = []
  for step in recipe.passes:
    element = step.element.format(v="v")
    start, update = f"{rc.zero(recipe)}", f"{step.name} += {element};"
    if step.combine == "max":
      start = "-INFINITY"
      update = f"{step.name} = fmaxf({step.name}, {element});"
    lines += [f"{number} {step.name} = {start};", f"{loop}    {update}\n  }}"]
    lines += [step.finish] if step.finish else []
  indices = {"v": "v", "c": "c", "r": "r", "i": "r * cols + c"}
  result = recipe.result.format(**indices)
  if per_row(recipe):
    lines.append(f"y[r] = {result};")
  else:
    lines.append(f"{loop}    y[r * cols + c] = {result};\n  }}")
  body = "\n  ".join(lines)
  return f"""\
__global__ void kernel({", ".join(map(parameter, recipe.arguments))}) {{
  int64_t r = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (r >= rows) return;
  {body}
}}

{launch_signature(recipe.arguments)} {{
  kernel<<<(rows + 63) / 64, 64, 0, stream>>>(\
{", ".join(a.name for a in recipe.arguments)});
  return cudaGetLastError();
}}
"""
