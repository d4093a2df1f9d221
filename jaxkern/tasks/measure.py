"""How exact a task's outputs can be, measured on its inputs."""

from collections.abc import Mapping, Sequence

import jax.numpy as jnp
import numpy as np

from jaxkern.tasks import inputs as kinds_of_inputs
from jaxkern.tasks.draws import is_float
from jaxkern.tasks.signature import formula
from jaxkern.tasks.task import Argument, Arrays


def tolerance(
  kind: str,
  arguments: Sequence[Argument],
  exact,
  inputs: Arrays,
  attributes: Mapping,
  terms: str,
  rng: np.random.Generator,
) -> tuple[float, float]:
  """(rtol, atol) of float32 arithmetic on these inputs.

  As jaxkern.tasks.inputs has it. Of 16-bit outputs it is also what one rounding
  of a 16-bit intermediate costs, e.g. of attention's weights before they meet
  the values, as 16-bit inputs are felt: what is given in float32 is not rounded
  on the way. atol is a share of the outputs' own size, so that small ones are
  not lost in it.
  """
  floats = [a for a in arguments if a.kind == "output" and is_float(a.dtype)]
  if not floats:
    return 0.0, 0.0
  names = {a.name for a in floats}
  limits = max((jnp.finfo(a.dtype) for a in floats), key=lambda f: f.eps)
  short = float(limits.eps) if limits.bits == 16 else 0.0
  single = float(np.finfo(np.float32).eps)
  terms = formula(terms)(attributes)
  growth = max(terms**0.5, terms / 8 if kind == kinds_of_inputs.TIES else 0)
  rtol = max(2 * short or 32 * single, growth * single)

  def of_floats(moved):
    """Of the inputs that moved; integers stay where they are."""
    made = exact({**inputs, **moved}, attributes)
    return {n: y for n, y in made.items() if n in names}

  expected = of_floats({})
  errors = {name: np.zeros(y.shape) for name, y in expected.items()}
  for moved, factor in _shares(inputs, short, (10 + 1.5 * growth) * single):
    felt = kinds_of_inputs.sensitivity(of_floats, moved, expected, rng)
    for name in errors:
      errors[name] += factor * felt[name]
  atol = float(limits.smallest_subnormal) if short else 1e-30
  for name, y in expected.items():
    size = float(np.sqrt(np.mean(np.square(y)))) if y.size else 0.0
    share = (short or 32 * single) * min(1.0, size)
    excess = errors[name] - rtol * np.abs(y)
    atol = max(atol, share, float(excess.max(initial=0)))
  return rtol, atol


def _shares(inputs: Arrays, short: float, single: float):
  """Float inputs, 16-bit ones first, with what they may be off by."""
  floats = {n: x for n, x in inputs.items() if x.dtype.kind not in "iub"}
  halves = {n: x for n, x in floats.items() if x.dtype.itemsize == 2}
  wide = {n: x for n, x in floats.items() if n not in halves}
  shares = ((halves, short + single), (wide, single))
  return [(some, factor) for some, factor in shares if some]
