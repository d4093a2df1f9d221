"""Which tasks are products, and of what: Plans for products.py.

Convolutions are products of filters and patches: a row is a filter, a column a
pixel, a term a channel and a place in the window.
"""

import re

from jaxkern.data.variants import parts
from jaxkern.data.variants.product_tiles import Plan
from jaxkern.tasks.recipe import Recipe
from jaxkern.tasks.task import Task

_X, _W = "x[{r} * k + {c}]", "w[{c} * n + {j}]"
_GELU = "0.5f * {0} * erfcf(-0.70710678f * {0})"
_Y = "{r} * n + {j}"


def _plain(value: str, **more) -> Plan:
  """y = value of @s0, over m, n and k."""
  more = {"left": _X, "right": (_W,), "m": "m", "n": "n", "k": "k", **more}
  at = more.pop("at", _Y)
  return Plan(**more, store=f"y[{at}] = <{value}>;")


_FOUR = "(int)(w[{c} / 2 * n + {j}] >> {c} % 2 * 4 & 15) - 8"
_GROUP = "{c} / (k / groups) * n + {j}"
_SILU = "{0} / (1.0f + expf(-{0}))"

_PLANS = {
  "matmul": _plain("@s0"),
  "matmul_nt": _plain("@s0", right=("w[{j} * k + {c}]",), right_by="c"),
  "matmul_tn": _plain("@s0", left="x[{c} * m + {r}]", left_by="r"),
  "batched_matmul": _plain(
    "@s0",
    batch="batch",
    left="x[({b} * m + {r}) * k + {c}]",
    right=("w[({b} * k + {c}) * n + {j}]",),
    at="({b} * m + {r}) * n + {j}",
  ),
  "tall_matmul": _plain("@s0"),
  "triangular_matmul": _plain(
    "@s0",
    m="n",
    k="n",
    left="({c} <= {r} ? x[{r} * n + {c}] : 0.0f)",
    right=("z[{c} * n + {j}]",),
  ),
  "gram_matrix": _plain(
    "@s0",
    m="n",
    left="x[{c} * n + {r}]",
    right=("x[{c} * n + {j}]",),
    left_by="r",
  ),
  "block_diagonal_matmul": _plain(
    "@s0",
    batch="blocks",
    left="x[({r} * blocks + {b}) * k + {c}]",
    right=("w[({b} * k + {c}) * n + {j}]",),
    at="({r} * blocks + {b}) * n + {j}",
  ),
  "linear_gelu": Plan(
    "m",
    "n",
    "k",
    _X,
    (_W,),
    f"float v = @s0 + b[{{j}}];\ny[{_Y}] = <{_GELU.format('v')}>;",
  ),
  "linear_residual": _plain(f"@s0 + b[{{j}}] + r[{_Y}]"),
  "gated_linear": _plain(
    f"{_SILU.format('@s0')} * @s1", right=(_W, "v[{c} * n + {j}]")
  ),
  "pairwise_distance": _plain(
    "sqrtf(@s0)",
    m="n",
    n="m",
    right=("z[{j} * k + {c}]",),
    right_by="c",
    add="{s} += ({x} - {w}) * ({x} - {w});",
    at="{r} * m + {j}",
  ),
  "qk_norm_scores": _plain(
    "a * @s0 / (sqrtf(@xx) * sqrtf(@ww))",
    batch="heads",
    m="n",
    k="cols",
    left="q[({b} * n + {r}) * cols + {c}]",
    right=("k[({b} * n + {j}) * cols + {c}]",),
    right_by="c",
    extra=(("xx", "{s} += {x} * {x};"), ("ww", "{s} += {w} * {w};")),
    at="({b} * n + {r}) * n + {j}",
  ),
  "rms_norm_linear": _plain(
    "@s0 / sqrtf(@xx / cols + 1e-5f)",
    m="rows",
    k="cols",
    left="x[{r} * cols + {c}]",
    right=("g[{c}] * w[{c} * n + {j}]",),
    extra=(("xx", "{s} += {x} * {x};"),),
  ),
  "int8_matmul": _plain("@s0", number="int"),
  "int8_matmul_scaled": _plain("@s0 * a[{r}] * scale[{j}]", number="int"),
  "int8_linear_relu": Plan(
    "m",
    "n",
    "k",
    _X,
    (_W,),
    "int v = (@s0 + b[{j}]) >> 9;\n"
    f"y[{_Y}] = <v < 0 ? 0 : v > 127 ? 127 : v>;",
    number="int",
  ),
  "int8_weight_linear": _plain("@s0 * scale[{j}]"),
  "int4_weight_linear": _plain("@s0 * scale[{j}]", right=(_FOUR,)),
  "int4_grouped_linear": _plain(
    "@s0",
    right=(f"({_FOUR} - zero[{_GROUP}]) * scale[{_GROUP}]",),
  ),
  "int8_swiglu": Plan(
    "m",
    "n",
    "k",
    _X,
    (_W, "z[{c} * n + {j}]"),
    "float v = @s0 * scale[{j}];\n"
    f"y[{_Y}] = <{_SILU.format('v')} * @s1 * scale[{{j}}]>;",
  ),
}


def _convolution(size, stride=1, dilation=1, value="@s0", filters="filters"):
  """3 x 3 and the like, padded with zeros, of images."""
  oh, ow = ("oh", "ow") if stride > 1 else ("h", "w")
  square = size * size
  u = f"({{j}} / {ow} * {stride} + ({{c}} / {size} % {size} - {size // 2})"
  v = f"({{j}} % {ow} * {stride} + ({{c}} % {size} - {size // 2})"
  u, v = (f"{t} * {dilation})" for t in (u, v))
  inside = f"(unsigned){u} < (unsigned)h && (unsigned){v} < (unsigned)w"
  x = f"x[(({{b}} * channels + {{c}} / {square}) * h + {u}) * w + {v}]"
  return Plan(
    m=filters,
    n=f"({oh} * {ow})",
    k=f"(channels * {square})",
    left=f"k[{{r}} * channels * {square} + {{c}}]",
    right=(f"({inside} ? {x} : 0.0f)",),
    batch="batch",
    store=f"{value.partition('|')[2]}"
    f"y[({{b}} * {filters} + {{r}}) * {oh} * {ow} + {{j}}] ="
    f" <{value.partition('|')[0]}>;",
  )


_PLANS |= {
  "conv2d": _convolution(3),
  "conv2d_strided": _convolution(3, stride=2),
  "conv2d_dilated": _convolution(3, dilation=2),
  "conv2d_5x5": _convolution(5),
  "conv2d_bias_relu": _convolution(3, value="fmaxf(@s0 + bias[{r}], 0.0f)"),
  "conv2d_norm_silu": _convolution(
    3,
    value=f"{_SILU.format('v')}|float v = @s0 * g[{{r}}] + bias[{{r}}];\n",
  ),
  "residual_conv2d": _convolution(
    3,
    value="fmaxf(x[({b} * channels + {r}) * h * w + {j}] + @s0 * g[{r}], 0.0f)",
    filters="channels",
  ),
  "conv2d_pointwise": Plan(
    "filters",
    "(h * w)",
    "channels",
    "k[{r} * channels + {c}]",
    ("x[({b} * channels + {c}) * h * w + {j}]",),
    "y[({b} * filters + {r}) * h * w + {j}] = <@s0>;",
    batch="batch",
  ),
  "conv1d": Plan(
    "filters",
    "m",
    "(channels * width)",
    "k[{r} * channels * width + {c}]",
    ("x[({b} * channels + {c} / width) * n + {j} + {c} % width]",),
    "y[({b} * filters + {r}) * m + {j}] = <@s0>;",
    batch="batch",
  ),
  "conv3d": Plan(
    "filters",
    "(oz * oh * ow)",
    "(channels * 8)",
    "k[{r} * channels * 8 + {c}]",
    (
      "x[((({b} * channels + {c} / 8) * z + {j} / (oh * ow) + {c} / 4 % 2) * h"
      " + {j} / ow % oh + {c} / 2 % 2) * w + {j} % ow + {c} % 2]",
    ),
    "y[({b} * filters + {r}) * oz * oh * ow + {j}] = <@s0>;",
    batch="batch",
  ),
  "patch_embedding": Plan(
    "m",
    "d",
    "(3 * patch * patch)",
    "x[(({b} * 3 + {c} / (patch * patch)) * h + {r} / (w / patch) * patch"
    " + {c} / patch % patch) * w + {r} % (w / patch) * patch + {c} % patch]",
    ("k[{j} * 3 * patch * patch + {c}]",),
    "y[({b} * m + {r}) * d + {j}] ="
    " <@s0 + bias[{j}] + position[{r} * d + {j}]>;",
    batch="batch",
    right_by="c",
  ),
}


def of_suite(operation: str, task: Task) -> Plan | None:
  """The plan of an operation of the suite, if it is a product."""
  plan = _PLANS.get(operation)
  return plan and typed(plan, task)


def of_recipe(recipe: Recipe, task: Task) -> Plan | None:
  """The plan of a product of the primer, likewise."""
  if recipe.family != "matmul":
    return None
  value = recipe.read.replace("s", "@s0", 1).replace("{c}", "{j}")
  store = f"float v = {value};\ny[{_Y}] = <{recipe.activation}>;"
  store = store.replace("{v}", "v")
  return typed(Plan("m", "n", "k", _X, (_W,), store), task)


def typed(plan: Plan, task: Task) -> Plan:
  """A plan whose elements are converted as they are read and written."""
  types = parts.dtypes(task)

  def loaded(text: str) -> str:
    """What is read is a number."""
    return parts.elements(text, types)

  def stored(text: str) -> str:
    """y[...] = <value>; in the output's type."""

    def replace(match: re.Match) -> str:
      """One assignment."""
      name, index, value = match.groups()
      return f"{name}[{index}] = {parts.store(types[name], loaded(value))};"

    pieces = re.split(r"(?=^y\[)", text, flags=re.MULTILINE)
    done = [
      re.sub(r"\A(\w+)\[([^][]*)\] = <(.*)>;", replace, p, flags=re.DOTALL)
      if p.startswith("y[")
      else loaded(p)
      for p in pieces
    ]
    return "".join(done)

  return plan._replace(
    left=loaded(plan.left),
    right=tuple(map(loaded, plan.right)),
    store=stored(plan.store),
  )
