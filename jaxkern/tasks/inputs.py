"""Inputs that show what ordinary ones hide, and how exact one can be on them.

Unit normal inputs are kind to a kernel: nothing overflows, no two values are
equal, no row is all negative. Each kind below exposes faults that they do not:

  wide magnitudes  five decades: accumulation in half precision, small terms
                   lost beside large ones
  zeros and ties   branches on < for <=, zeros left unwritten, 0 / 0
  mostly negative  maxima that start at 0, logarithms and roots of the sign
  large offset     100 and a little: exp without subtracting the maximum,
                   variance as E[x^2] - E[x]^2
  denormals        flushed to zero
"""

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np

from jaxkern.tasks.task import Arrays

WIDE = "wide magnitudes"
TIES = "zeros and ties"
NEGATIVE = "mostly negative"
OFFSET = "large offset"
DENORMAL = "denormals"

_TIES = (-2.0, -1.0, -0.5, 0.0, 0.0, 0.0, 0.5, 1.0, 2.0)
_DECADES = (-3, 2)
_INTEGER_DECADES = (0, 5)
_PERTURBATIONS = 4


def draw(
  kind: str, rng: np.random.Generator, shape: tuple[int, ...], dtype: str
) -> np.ndarray:
  """An array of one of the kinds; int32 has all but offsets and denormals."""
  integer = dtype == "int32"
  if kind == WIDE:
    low, high = _INTEGER_DECADES if integer else _DECADES
    values = rng.choice((-1, 1), shape) * 10 ** rng.uniform(low, high, shape)
  elif kind == TIES:
    values = rng.choice(_TIES, shape)
    values[1::5] = 0  # Whole rows.
  elif kind == NEGATIVE:
    values = -np.abs(rng.standard_normal(shape)) * (1000 if integer else 1)
    some = rng.random(shape) < 0.25  # Along the first axis, every second only.
    some[::2] = False
    values = np.where(some, -values, values)
  elif kind == OFFSET:
    values = 100 + rng.standard_normal(shape)
  elif kind == DENORMAL:
    limits = jnp.finfo(dtype)
    steps = rng.integers(1, 1 << limits.nmant, shape)
    signs = rng.choice((-1, 1), shape)
    values = signs * steps * float(limits.smallest_subnormal)
  else:
    raise ValueError(f"kind: no inputs are called {kind!r}")
  return values.astype(jnp.dtype(dtype))


def tolerance(
  kind: str,
  base: tuple[float, float],
  exact: Callable[[Arrays], Arrays],
  inputs: Arrays,
  terms: int,
  rng: np.random.Generator,
) -> tuple[float, float]:
  """(rtol, atol) that an honest float32 computation stays within on `inputs`.

  A sum's rounding errors grow with its terms, not with what is left of them.
  How much of them an output feels is measured: `sensitivity` is what it changes
  by per relative change of the inputs. Errors of single operations add up like
  a random walk over the `terms` of the longest sum, those of equal terms like
  a march, since each is rounded like the one before; the factors are six times
  the standard deviation of the one and a quarter of the bound of the other.
  Terms of one sign feel each other's more than their own: hence rtol. Only what
  exceeds rtol |expected| is added to atol.
  """
  rtol, atol = base
  if rtol == 0:  # integers
    return base
  eps = float(jnp.finfo(np.float32).eps)
  growth = max(terms**0.5, terms / 8 if kind == TIES else 0)
  rtol = max(rtol, growth * eps)
  factor = (10 + 1.5 * growth) * eps
  expected = exact(inputs)
  felt = sensitivity(exact, inputs, expected, rng)
  excess = [
    factor * felt[name] - rtol * np.abs(expected[name]) for name in expected
  ]
  return rtol, max(atol, *(float(e.max(initial=0)) for e in excess))


def sensitivity(
  exact: Callable[[Arrays], Arrays],
  inputs: Arrays,
  expected: Arrays,
  rng: np.random.Generator,
) -> dict[str, np.ndarray]:
  """Root mean square of sum_j r_j x_j dy/dx_j over random r, by name of y.

  r is near 1 or near -1, not just a sign, so that two equal terms do not hide
  each other.
  """
  step = 2.0**-26
  squares = {name: np.zeros(y.shape) for name, y in expected.items()}
  for _ in range(_PERTURBATIONS):
    moved = {
      name: x.astype(np.float64) * (1 + step * _signs(rng, x.shape))
      for name, x in inputs.items()
    }
    for name, y in exact(moved).items():
      with np.errstate(invalid="ignore"):  # Infinities stay where they are.
        squares[name] += np.nan_to_num((y - expected[name]) / step) ** 2
  return {name: np.sqrt(s / _PERTURBATIONS) for name, s in squares.items()}


def _signs(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
  return rng.choice((-1, 1), shape) * rng.uniform(0.5, 1.5, shape)
