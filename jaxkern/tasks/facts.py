"""What a task costs at a size: operations, bytes, and how intricate it is."""

import math
from collections.abc import Mapping

import jax
import jax.numpy as jnp

from jaxkern.tasks.task import Task, shape_of


def flops(task: Task, attributes: Mapping) -> float | None:
  """Operations: as the task says, else as XLA counts its reference.

  A multiply-add is two; exp and its like are one each. None where neither
  says, e.g. of a reference in NumPy.
  """
  if task.flops:
    return float(task.flops(attributes))
  run = getattr(task.exact, "run", None)
  if run is None:
    return None
  with jax.enable_x64(True), jax.numpy_rank_promotion("allow"):
    lowered = run.lower(*_abstract(task, attributes))
    cost = lowered.cost_analysis() or {}
  counts = [cost.get(key, 0.0) for key in ("flops", "transcendentals")]
  return float(sum(max(0.0, count) for count in counts))


def traffic(task: Task, attributes: Mapping) -> float:
  """Bytes, if every element is read or written once; or as the task says."""
  if task.traffic:
    return float(task.traffic(attributes))
  return float(
    sum(
      math.prod(shape_of(a, attributes)) * jnp.dtype(a.dtype).itemsize
      for a in task.arguments
      if a.kind != "attribute"
    )
  )


def difficulty(task: Task) -> int | None:
  """How many operations on arrays the reference consists of; None as above.

  Of its jaxpr, loops' bodies once, without those that only rename, convert or
  reshape.
  """
  run = getattr(task.exact, "run", None)
  if run is None:
    return None
  inputs, attributes = _abstract(task, task.cases[-1])
  with jax.enable_x64(True), jax.numpy_rank_promotion("allow"):
    traced = run.trace(inputs, attributes)
  return _operations(traced.jaxpr.jaxpr)


_FREE = ("convert_element_type", "reshape", "broadcast_in_dim", "squeeze")


def _operations(jaxpr) -> int:
  count = 0
  for equation in jaxpr.eqns:
    inner = [
      getattr(value, "jaxpr", value)
      for parameter in equation.params.values()
      for value in (
        parameter if isinstance(parameter, tuple | list) else [parameter]
      )
      if hasattr(getattr(value, "jaxpr", value), "eqns")
    ]
    if inner:
      count += sum(map(_operations, inner))
    elif equation.primitive.name not in _FREE:
      count += 1
  return count


def _abstract(task: Task, attributes: Mapping):
  """The arguments of the reference's `run`, without contents."""
  inputs = {}
  for a in task.arguments:
    if a.kind == "input":
      dtype = "float64" if "float" in a.dtype else a.dtype
      inputs[a.name] = jax.ShapeDtypeStruct(
        shape_of(a, attributes), jnp.dtype(dtype)
      )
  return inputs, tuple(attributes.items())
