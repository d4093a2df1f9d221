"""Which tasks are rows, and what is done with each: Plans for rows.py."""

from jaxkern.data.variants.rows import Plan
from jaxkern.tasks import recipe as rc
from jaxkern.tasks.recipe import Pass, Recipe

_SUM_SQUARES = Pass("s", "sum", "{v} * {v}")
_MEAN = Pass("m", "sum", "{v}", "m /= {cols};")
_SPREAD = Pass("s", "sum", "({v} - m) * ({v} - m)")
_MOMENTS = (_MEAN, _SPREAD)
_MAX = Pass("m", "max", "{v}")
_SOFTMAX = (_MAX, Pass("s", "sum", "expf({v} - m)"))
_SCALE = "rsqrtf(s / {cols} + 1e-5f)"
_NORMAL = f"({{v}} - m) * {_SCALE}"
_CAPPED = "cap * tanhf(x[{i}] / cap)"
_CHANNEL = "{r} % groups * (channels / groups) + {c} / size"

# By operation; of each dtype that the suite has.
_PLANS = {
  "logsumexp": Plan("x[{i}]", _SOFTMAX, once={"y": "m + logf(s)"}),
  "mean_and_variance": Plan(
    "x[{i}]", _MOMENTS, once={"mean": "m", "var": "s / cols"}
  ),
  "max_magnitude": Plan(
    "x[{i}]", (Pass("m", "max", "fabsf({v})"),), once={"y": "m"}
  ),
  "count_above": Plan(
    "x[{i}]", (Pass("s", "sum", "({v} > 0)"),), once={"y": "s"}, number="int"
  ),
  "product": Plan("x[{i}]", (Pass("s", "prod", "{v}"),), once={"y": "s"}),
  "softmax": Plan("x[{i}]", _SOFTMAX, {"y": "expf({v} - m) / s"}),
  "causal_softmax": Plan(
    "({c} <= {r} % n ? x[{i}] : -INFINITY)",
    _SOFTMAX,
    {"y": "expf({v} - m) / s"},
    rows="batch * n",
    cols="n",
  ),
  "softcap_softmax": Plan(_CAPPED, _SOFTMAX, {"y": "expf({v} - m) / s"}),
  "softmax_backward": Plan(
    "",
    (Pass("s", "sum", "y[{i}] * dy[{i}]"),),
    {"dx": "y[{i}] * (dy[{i}] - s)"},
  ),
  "softmax_entropy": Plan(
    "x[{i}]",
    (*_SOFTMAX, Pass("h", "sum", "expf({v} - m) * ({v} - m)")),
    once={"y": "logf(s) - h / s"},
  ),
  "layer_norm": Plan(
    "x[{i}]", _MOMENTS, {"y": f"{_NORMAL} * g[{{c}}] + b[{{c}}]"}
  ),
  "rms_norm": Plan(
    "x[{i}]", (_SUM_SQUARES,), {"y": f"{{v}} * {_SCALE} * g[{{c}}]"}
  ),
  "l2_normalize": Plan("x[{i}]", (_SUM_SQUARES,), {"y": "{v} / sqrtf(s)"}),
  "residual_rms_norm": Plan(
    "(x[{i}] + r[{i}])",
    (_SUM_SQUARES,),
    {"h": "{v}", "y": f"{{v}} * {_SCALE} * g[{{c}}]"},
  ),
  "modulated_layer_norm": Plan(
    "x[{i}]",
    _MOMENTS,
    {"y": f"{_NORMAL} * (1.0f + scale[{{c}}]) + shift[{{c}}]"},
  ),
  "instance_norm": Plan(
    "x[{i}]", _MOMENTS, {"y": _NORMAL}, rows="batch * channels", cols="size"
  ),
  "group_norm": Plan(
    "x[{i}]",
    _MOMENTS,
    {"y": f"{_NORMAL} * g[{_CHANNEL}] + b[{_CHANNEL}]"},
    rows="batch * groups",
    cols="(channels / groups * size)",
  ),
  "layer_norm_backward": Plan(
    "x[{i}]",
    (
      *_MOMENTS,
      Pass("p", "sum", "dy[{i}] * g[{c}]"),
      Pass("q", "sum", f"dy[{{i}}] * g[{{c}}] * {_NORMAL}"),
    ),
    {
      "dx": f"(dy[{{i}}] * g[{{c}}] - p / {{cols}} - {_NORMAL} * q / {{cols}})"
      f" * {_SCALE}"
    },
  ),
  "rms_norm_backward": Plan(
    "x[{i}]",
    (_SUM_SQUARES, Pass("m", "sum", "dy[{i}] * g[{c}] * {v}")),
    {
      "dx": f"(dy[{{i}}] * g[{{c}}] - {{v}} * m / (s + 1e-5f * {{cols}}))"
      f" * {_SCALE}"
    },
  ),
  "row_scales": Plan(
    "x[{i}]",
    (Pass("m", "max", "fabsf({v})"),),
    once={"scale": "m / 127.0f"},
  ),
}


def of_suite(operation: str) -> Plan | None:
  """The plan of an operation of the suite, if rows are its way."""
  plan = _PLANS.get(operation)
  return plan and _with_cols(plan)


def of_recipe(recipe: Recipe) -> Plan | None:
  """The plan of a task of the primer, likewise."""
  if recipe.family not in ("row_reduction", "row_normalisation", "matvec"):
    return None
  value = recipe.read
  if recipe.activation != "{v}":
    value = recipe.activation.replace("{v}", f"({value})")
  once, each = {}, {}
  (each if "{v}" in recipe.result else once)["y"] = recipe.result
  return Plan(value, recipe.passes, each, once, number=rc.scalar_type(recipe))


def _with_cols(plan: Plan) -> Plan:
  """{cols} is the plan's own expression."""

  def filled(text: str) -> str:
    """Other placeholders stay."""
    return text.replace("{cols}", plan.cols)

  return plan._replace(
    passes=tuple(
      p._replace(element=filled(p.element), finish=filled(p.finish))
      for p in plan.passes
    ),
    each={name: filled(text) for name, text in plan.each.items()},
    once={name: filled(text) for name, text in plan.once.items()},
  )
