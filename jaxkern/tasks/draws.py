"""What inputs are drawn from."""

from collections.abc import Callable, Mapping, Sequence

import jax.numpy as jnp
import numpy as np

from jaxkern.tasks import inputs as kinds_of_inputs
from jaxkern.tasks.signature import formula
from jaxkern.tasks.task import Argument, shape_of

Draw = Callable[[np.random.Generator, tuple[int, ...], Mapping], np.ndarray]


def normal(scale: str = "1", offset: float = 0.0) -> Draw:
  """Normal, of a standard deviation in terms of the sizes."""
  within = formula(scale)

  def draw(rng, shape, attributes):
    """As a Draw."""
    return offset + rng.standard_normal(shape) * within(attributes)

  return draw


def uniform(low: float, high: float) -> Draw:
  """Between the two."""
  return lambda rng, shape, attributes: rng.uniform(low, high, shape)


def integers(low: int, high: str) -> Draw:
  """From low to below high, which is in terms of the sizes."""
  within = formula(high)
  return lambda rng, shape, attributes: rng.integers(
    low, int(within(attributes)), shape
  )


def distinct(rng, shape, attributes) -> np.ndarray:
  """Unit normal in float32, no two of a row equal; a Draw."""
  x = rng.standard_normal(shape, np.float32)
  while (tied := (np.diff(np.sort(x)) == 0).any(axis=-1)).any():
    x[tied] = rng.standard_normal((*x[tied].shape,), np.float32)
  return x


def has_plain_floats(arguments, draws) -> bool:
  """Whether a float input has no draw of its own."""
  return any(
    a.kind == "input" and a.name not in draws and is_float(a.dtype)
    for a in arguments
  )


def is_float(dtype: str) -> bool:
  """Of any width."""
  return "float" in dtype


def drawer(arguments: Sequence[Argument], draws: Mapping[str, Draw]):
  """(kind, rng, attributes) -> inputs; kind '' for ordinary ones."""

  def draw(kind: str, rng: np.random.Generator, attributes: Mapping):
    """Every input in the order of the signature."""
    inputs = {}
    for a in arguments:
      if a.kind != "input":
        continue
      shape = shape_of(a, attributes)
      if a.name in draws:
        values = draws[a.name](rng, shape, attributes)
      elif not is_float(a.dtype):
        values = rng.integers(*_range(a.dtype), shape)
      elif kind:
        values = kinds_of_inputs.draw(kind, rng, shape, a.dtype)
      else:
        values = rng.standard_normal(shape, np.float32)
      inputs[a.name] = np.asarray(values).astype(jnp.dtype(a.dtype))
    return inputs

  return draw


def _range(dtype: str) -> tuple[int, int]:
  """Of integers, the second excluded: all that fit, but of long ones."""
  if dtype == "bool":
    return 0, 2
  if dtype in ("int32", "int64"):
    return -1000, 1000
  limits = np.iinfo(dtype)
  return limits.min, limits.max + 1
