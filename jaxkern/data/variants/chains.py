"""Two products in a row, and the like: what lies between is computed once.

The naive kernels compute a hidden row again for every output; here it goes to a
workspace that is kept between calls.
"""

from typing import NamedTuple

import numpy as np

from jaxkern.data.variants import parts, product_plans, products
from jaxkern.data.variants.parts import pick
from jaxkern.data.variants.product_tiles import Plan
from jaxkern.tasks.task import Task


class Chain(NamedTuple):
  """A first product into `hidden`, of `room` floats, and a second one of it."""

  first: Plan
  second: Plan
  room: str


_X, _W = "x[{r} * k + {c}]", "w[{c} * n + {j}]"
_GELU = "0.5f * {0} * erfcf(-0.70710678f * {0})"
_SILU = "{0} / (1.0f + expf(-{0}))"


def _mlp(value: str, gated: bool = False) -> Chain:
  """down(value(up))."""
  rights = (_W, "v[{c} * n + {j}]") if gated else (_W,)
  first = Plan(
    "m",
    "n",
    "k",
    _X,
    rights,
    f"const float h = @s0;\nhidden[{{r}} * n + {{j}}] = {value};",
  )
  second = Plan(
    "m",
    "k",
    "n",
    "hidden[{r} * n + {c}]",
    ("u[{c} * k + {j}]",),
    "y[{r} * k + {j}] = <@s0>;",
  )
  return Chain(first, second, "m * n")


_LORA = Chain(
  Plan(
    "m",
    "rank",
    "k",
    _X,
    ("p[{c} * rank + {j}]",),
    "hidden[{r} * rank + {j}] = a * @s0;",
  ),
  # [x, hidden] times [w; q]: the sum goes on over the adapter's rank.
  Plan(
    "m",
    "n",
    "(k + rank)",
    "({c} < k ? x[{r} * k + {c}] : hidden[{r} * rank + {c} - k])",
    ("({c} < k ? w[{c} * n + {j}] : q[({c} - k) * n + {j}])",),
    "y[{r} * n + {j}] = <@s0>;",
  ),
  "m * rank",
)
_CHAINS = {
  "mlp_gelu": _mlp(_GELU.format("h")),
  "mlp_squared_relu": _mlp("h > 0.0f ? h * h : 0.0f"),
  "mlp_swiglu": _mlp(f"{_SILU.format('h')} * @s1", gated=True),
  "mlp_geglu": _mlp(f"{_GELU.format('h')} * @s1", gated=True),
  "lora_linear": _LORA,
}


def of_suite(operation: str, task: Task) -> Chain | None:
  """The chain of an operation of the suite, if it is one."""
  chain = _CHAINS.get(operation)
  if chain is None:
    return None
  first, second = (
    product_plans.typed(plan, task) for plan in (chain.first, chain.second)
  )
  return Chain(first, second, chain.room)


def write(task: Task, chain: Chain, rng: np.random.Generator) -> str:
  """Two kernels and their workspace, in random ways."""
  style = parts.look(rng, pick(rng, ("mlp", "chain")))
  device, launch = (
    "",
    [
      "static float* hidden = nullptr;",
      "static int64_t room = 0;",
      f"if ({chain.room} > room) {{",
      "cudaFree(hidden);",
      f"room = {chain.room};",
      "cudaError_t error = cudaMalloc(&hidden, room * sizeof(float));",
      "if (error != cudaSuccess) return error;",
      "}",
    ],
  )
  for part, plan in (("up", chain.first), ("down", chain.second)):
    named = style._replace(name=f"{style.name}_{part}")
    shape = products.draw(rng, plan)
    body = products.body_of(plan, shape, named)
    device += parts.kernel(
      task, named, body, shape.threads, extra=("float* hidden",)
    )
    device += "\n" if part == "up" else ""
    call = parts.arguments(task, ("hidden",))
    launch += [
      "{",
      *products.launch_of(task, plan, shape, named, call=call),
      "}",
    ]
  return parts.unit(task, style, device, launch, "Hidden rows go to memory.")
