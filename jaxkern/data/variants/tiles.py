"""Transposes: through a padded tile in shared memory, read and written along
rows."""

from typing import NamedTuple

import numpy as np

from jaxkern.data.variants import parts
from jaxkern.data.variants.parts import pick
from jaxkern.tasks.recipe import Recipe
from jaxkern.tasks.task import C_TYPES, Task


class Plan(NamedTuple):
  """y[o, c, r] = value of x[o, r, c].

  Attributes:
    read: an element of {i}, its flat index; as a number unless `copies`.
    activation: of {v}.
    rows, cols, outer: extents.
    copies: elements are moved as they are.
  """

  read: str
  activation: str = "{v}"
  rows: str = "rows"
  cols: str = "cols"
  outer: str = "1"
  copies: bool = False


def of_suite(operation: str) -> Plan | None:
  """The plan of an operation of the suite, if it is a transpose."""
  if operation == "channels_last":
    return Plan(
      "x[{i}]", rows="channels", cols="(h * w)", outer="batch", copies=True
    )
  return None


def of_recipe(recipe: Recipe) -> Plan | None:
  """The plan of a transpose of the primer, likewise."""
  if recipe.family != "transpose":
    return None
  return Plan(recipe.read, recipe.activation)


def write(task: Task, plan: Plan, rng: np.random.Generator) -> str:
  """A kernel of a plan in a random way."""
  style = parts.look(rng, pick(rng, ("transpose", "tile")))
  side = pick(rng, (16, 32, 32, 64))
  tall = pick(rng, tuple(t for t in (4, 8, 16) if side * t <= 512))
  late = rng.random() < 0.5  # The activation: when the tile is read.
  types, index = parts.dtypes(task), style.index
  kind = C_TYPES[types["x"]] if plan.copies else "float"
  read = plan.read if plan.copies else parts.elements(plan.read, types)
  base = f"o * {plan.rows} * {plan.cols} + " if plan.outer != "1" else ""
  read = read.format(i=f"{base}r * {plan.cols} + c")
  done = plan.activation.format(v="v")
  if late:
    setup, second = [f"tile[k][threadIdx.x] = {read};"], done
  else:
    setup = [f"{kind} v = {read};", f"tile[k][threadIdx.x] = {done};"]
    second = "v"
  step = f"for (int k = threadIdx.y; k < {side}; k += {tall}) {{"
  target = f"{base}c * {plan.rows} + r"
  second = second if plan.copies else parts.store(types["y"], second)
  body = [
    f"__shared__ {kind} tile[{side}][{side + 1}];",
    *([f"const {index} o = blockIdx.z;"] if plan.outer != "1" else []),
    f"const {index} r0 = blockIdx.y * {side}, c0 = blockIdx.x * {side};",
    *parts.pragma(style),
    step,
    f"const {index} r = r0 + k, c = c0 + threadIdx.x;",
    f"if (r < {plan.rows} && c < {plan.cols}) {{",
    *setup,
    "}",
    "}",
    "__syncthreads();",
    *parts.pragma(style),
    step,
    f"const {index} r = r0 + threadIdx.x, c = c0 + k;",
    f"if (r < {plan.rows} && c < {plan.cols}) {{",
    f"const {kind} v = tile[threadIdx.x][k];",
    f"y[{target}] = {second};",
    "}",
    "}",
  ]
  device = parts.kernel(task, style, body, side * tall)
  launch = [
    f"dim3 block({side}, {tall});",
    f"dim3 grid({parts.quotient(style, plan.cols, side)},"
    f" {parts.quotient(style, plan.rows, side)}, {plan.outer});",
    f"{style.name}<<<grid, block, 0, stream>>>({parts.arguments(task)});",
  ]
  note = f"Tiles of {side} x {side}, {side // tall} elements per thread."
  return parts.unit(task, style, device, launch, note)
