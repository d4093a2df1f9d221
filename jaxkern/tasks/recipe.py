"""How tasks are composed of elements, once in jax.numpy and once in CUDA.

Most tasks are `sink(activation(form(x, ...)))`: a form reads the operands of
one element, an activation maps it, a sink stores, reduces or multiplies it. A
`Recipe` holds the CUDA side of such a composition as templates, so that the
baseline here and every style in jaxkern.data write it from one text.

Placeholders: {v} a value, {i} the flat index of an element, {r} its row, {c}
its column.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxkern.tasks import inputs as kinds_of_inputs
from jaxkern.tasks.task import Argument, Arrays, Baseline, Task, shape_of


class Form(NamedTuple):
  """How one element is read.

  Attributes:
    operands: arrays besides x: z has x's shape, w, b and g one row's.
    scalars: float attributes.
    jnp: expression in jax.numpy.
    cuda: the same for one element.
  """

  operands: tuple[str, ...]
  scalars: tuple[str, ...]
  jnp: str
  cuda: str


class Activation(NamedTuple):
  """A function of one value; `scalars` are its float attributes."""

  jnp: str
  cuda: str
  scalars: tuple[str, ...] = ()


class Pass(NamedTuple):
  """A reduction over a row.

  Attributes:
    name: the accumulator's C++ name.
    combine: 'sum' or 'max'.
    element: what is reduced; CUDA, of {v} and earlier accumulators.
    finish: a C++ statement that turns the total into the result, or ''.
  """

  name: str
  combine: str
  element: str
  finish: str = ""


class Recipe(NamedTuple):
  """A task's composition.

  Attributes:
    name, level, family, split, summary, arguments: as in Task.
    read: CUDA text of one element before the activation.
    activation: CUDA text of {v}; '{v}' for none.
    passes: reductions over the row, in order.
    result: CUDA text of one output, of {v} and the accumulators.
  """

  name: str
  level: int
  family: str
  split: str
  summary: str
  arguments: tuple[Argument, ...]
  read: str
  activation: str = "{v}"
  passes: tuple[Pass, ...] = ()
  result: str = "{v}"


FORMS = {
  "x": Form((), (), "x", "x[{i}]"),
  "add": Form(("z",), (), "x + z", "x[{i}] + z[{i}]"),
  "mul": Form(("z",), (), "x * z", "x[{i}] * z[{i}]"),
  "bias": Form(("b",), (), "x + b", "x[{i}] + b[{c}]"),
  "scale": Form((), ("a",), "a * x", "a * x[{i}]"),
  "axpy": Form(("z",), ("a",), "a * x + z", "a * x[{i}] + z[{i}]"),
}

# Applied after the activation (or the normalisation).
AFTER = {
  "": Form((), (), "{v}", "{v}"),
  "add": Form(("z",), (), "{v} + z", "{v} + z[{i}]"),
  "gate": Form(("z",), (), "{v} * z", "{v} * z[{i}]"),
  "gain": Form(("g",), (), "{v} * g", "{v} * g[{c}]"),
}

ACTIVATIONS = {
  "": Activation("{v}", "{v}"),
  "relu": Activation("jax.nn.relu({v})", "fmaxf({v}, 0.0f)"),
  "gelu": Activation(
    "jax.nn.gelu({v})",
    "0.5f * {v} * (1.0f + "
    "tanhf(0.7978846f * ({v} + 0.044715f * {v} * {v} * {v})))",
  ),
  "silu": Activation("jax.nn.silu({v})", "{v} / (1.0f + expf(-{v}))"),
  "sigmoid": Activation("jax.nn.sigmoid({v})", "1.0f / (1.0f + expf(-{v}))"),
  "tanh": Activation("jnp.tanh({v})", "tanhf({v})"),
  "clamp": Activation(
    "jnp.clip({v}, lo, hi)", "fminf(fmaxf({v}, lo), hi)", ("lo", "hi")
  ),
}

LOADS = {"float16": "__half2float", "bfloat16": "__bfloat162float"}
STORES = {"float16": "__float2half", "bfloat16": "__float2bfloat16"}
HEADERS = {
  "float16": "#include <cuda_fp16.h>\n\n",
  "bfloat16": "#include <cuda_bf16.h>\n\n",
}
_SCALARS = {
  "a": (0.5, -1.25, 2.0, 0.75, -0.5, 1.5),
  "lo": (-0.5, -1.0, -0.25, 0.0, -0.75, -1.5),
  "hi": (1.0, 0.5, 0.75, 1.25, 0.25, 1.0),
}


def arguments(
  operands: Mapping[str, tuple],
  output: tuple,
  scalars: Sequence[str] = (),
  dtype: str = "float32",
) -> tuple[Argument, ...]:
  """Inputs, the output y, the sizes their shapes name, then the scalars."""
  shapes = [*operands.values(), output]
  sizes = dict.fromkeys(name for shape in shapes for name in shape)
  return (
    *(Argument(n, "input", dtype, s) for n, s in operands.items()),
    Argument("y", "output", dtype, output),
    *(Argument(size, "attribute", "int64") for size in sizes),
    *(Argument(scalar, "attribute", "float32") for scalar in scalars),
  )


def dtype(recipe: Recipe) -> str:
  """The arrays' dtype."""
  return recipe.arguments[0].dtype


def scalar_type(recipe: Recipe) -> str:
  """The C++ type in which the kernel computes: 'int' or 'float'."""
  return "int" if dtype(recipe) == "int32" else "float"


def zero(recipe: Recipe) -> str:
  """The literal 0 of that type."""
  return "0" if dtype(recipe) == "int32" else "0.0f"


def sizes(recipe: Recipe) -> list[str]:
  """Names of the int64 attributes."""
  return [a.name for a in recipe.arguments if a.dtype == "int64"]


def loaded(recipe: Recipe, template: str, **indices: str) -> str:
  """A template at the given indices, 16-bit loads converted to float."""
  text = template.format(**indices)
  load = LOADS.get(dtype(recipe))
  return re.sub(r"\w+\[[^]]*\]", rf"{load}(\g<0>)", text) if load else text


def stored(recipe: Recipe, value: str) -> str:
  """A computed value converted to the output's type."""
  store = STORES.get(dtype(recipe))
  return f"{store}({value})" if store else value


def tolerance(dtype: str, slack: float = 1.0) -> tuple[float, float]:
  """(rtol, atol) that an honest kernel in `dtype` stays within.

  `slack` multiplies atol: sqrt(L) for a sum of L terms, far below what one in
  tf32 or float16 is off by. Added up one by one, L unit normal terms give an
  error of 0.2 L eps (standard deviation; the partial sums grow, too), and terms
  of one sign 0.17 sqrt(L) eps of their sum: six times that is let pass.
  """
  if dtype == "int32":
    return 0.0, 0.0
  eps = float(jnp.finfo(dtype).eps)
  if dtype == "float32":
    return max(32, slack) * eps, max(32, 1.25 * slack) * slack * eps
  return 2 * eps, eps * slack


def make_task(
  recipe: Recipe,
  baseline: str,
  sizes: Sequence[Mapping[str, int]],
  hidden: Sequence[Mapping[str, int]],
  slack: Callable[[Mapping], float] = lambda attributes: 1.0,
  reduced: str = "",
  vendor: Baseline | None = None,
) -> Task:
  """A task of a recipe; the last of `sizes` is the timed one.

  `reduced` is the attribute over which it sums, '' for none.
  """
  scalars = [a.name for a in recipe.arguments if a.dtype == "float32"]
  scalars = [name for name in scalars if name in _SCALARS]

  def with_scalars(sizes):
    """The sizes with the float attributes' values beside them."""
    return tuple(
      {**size, **{name: _SCALARS[name][k] for name in scalars}}
      for k, size in enumerate(sizes)
    )

  def bounds(attributes):
    """As Task's tolerance."""
    return tolerance(dtype(recipe), slack(attributes))

  cases = with_scalars(sizes)
  exact = _exact(recipe.summary, recipe.arguments)
  return Task(
    name=recipe.name,
    level=recipe.level,
    family=recipe.family,
    split=recipe.split,
    summary=recipe.summary,
    arguments=recipe.arguments,
    cases=cases,
    timed=(len(cases) - 1,),
    hidden=with_scalars(hidden),
    make_inputs=_make_inputs(recipe.arguments),
    reference=_rounded(exact, recipe.arguments),
    tolerance=bounds,
    baseline=HEADERS.get(dtype(recipe), "") + baseline,
    kinds=kinds(recipe),
    probe=_probe(recipe.arguments, exact, bounds, reduced),
    baselines={"vendor": vendor} if vendor else {},
  )


def kinds(recipe: Recipe) -> tuple[str, ...]:
  """The inputs beside ordinary ones that its kernels must bear."""
  borne = [kinds_of_inputs.WIDE, kinds_of_inputs.NEGATIVE, kinds_of_inputs.TIES]
  if dtype(recipe) == "int32":
    return tuple(borne)
  text = recipe.read + recipe.result
  if "tanhf(0.7" in recipe.activation and "* z" in recipe.result:
    # What gelu loses in 1 + tanh is multiplied.
    borne.remove(kinds_of_inputs.WIDE)
  saturates = any(f in recipe.activation for f in ("expf", "tanhf"))
  sums = any(step.combine == "sum" for step in recipe.passes)
  if sums and not saturates and recipe.family != "matvec":
    borne.insert(0, kinds_of_inputs.OFFSET)
  linear = all(step.element == "{v}" for step in recipe.passes)
  products = "* z" in text or "* w" in text or recipe.family == "matmul"
  # A GPU's atomicAdd on floats flushes denormals.
  if linear and not saturates and not products and not sums:
    borne.append(kinds_of_inputs.DENORMAL)
  return tuple(borne)


def _make_inputs(arguments: Sequence[Argument]):
  """Unit normal arrays; integers in [-1000, 1000)."""

  def make_inputs(rng: np.random.Generator, attributes: Mapping) -> Arrays:
    """As in Task."""
    inputs = {}
    for argument in arguments:
      if argument.kind != "input":
        continue
      shape = shape_of(argument, attributes)
      if argument.dtype == "int32":
        values = rng.integers(-1000, 1000, shape)
      else:
        values = rng.standard_normal(shape)
      inputs[argument.name] = values.astype(jnp.dtype(argument.dtype))
    return inputs

  return make_inputs


def _exact(summary: str, arguments: Sequence[Argument]):
  """Executes the summary itself, floats in float64, and does not round."""
  code = compile(summary, "<summary>", "exec")
  outputs = [a.name for a in arguments if a.kind == "output"]

  def exact(inputs: Arrays, attributes: Mapping) -> Arrays:
    """Outputs as they come, floats in float64."""
    with jax.enable_x64(True), jax.numpy_rank_promotion("allow"):
      scope = {"jax": jax, "jnp": jnp, **attributes}
      for name, value in inputs.items():
        wide = value.dtype if value.dtype == np.int32 else np.float64
        scope[name] = jnp.asarray(value.astype(wide))
      exec(code, scope)
      return {name: np.asarray(scope[name]) for name in outputs}

  return exact


def _rounded(exact, arguments: Sequence[Argument]):
  """The same, rounded once to the outputs' dtypes."""
  dtypes = {a.name: jnp.dtype(a.dtype) for a in arguments}

  def reference(inputs: Arrays, attributes: Mapping) -> Arrays:
    """As in Task."""
    outputs = exact(inputs, attributes)
    return {name: y.astype(dtypes[name]) for name, y in outputs.items()}

  return reference


def _probe(arguments: Sequence[Argument], exact, bounds, reduced: str):
  """As in Task."""

  def probe(kind: str, rng: np.random.Generator, attributes: Mapping):
    """As in Task."""
    inputs = {
      a.name: kinds_of_inputs.draw(kind, rng, shape_of(a, attributes), a.dtype)
      for a in arguments
      if a.kind == "input"
    }
    terms = attributes[reduced] if reduced else 1
    rtol, atol = bounds(attributes)
    if kind == kinds_of_inputs.DENORMAL:  # A step for each rounding.
      step = float(jnp.finfo(arguments[0].dtype).smallest_subnormal)
      atol = (2 + terms) * step
    return inputs, kinds_of_inputs.tolerance(
      kind, (rtol, atol), lambda x: exact(x, attributes), inputs, terms, rng
    )

  return probe
