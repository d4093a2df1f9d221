"""How far rotary embeddings turn, plain and stretched to longer contexts.

A scaling is what a checkpoint's config calls `rope_scaling`, as a value: None,
`Linear`, `Llama3` or `Yarn`. Frequencies are worked out once, in float64.
"""

import math
from typing import NamedTuple

import numpy as np


class Linear(NamedTuple):
  """Positions divided by factor."""

  factor: float


class Llama3(NamedTuple):
  """Long wavelengths divided by factor, short ones left, a ramp between.

  Attributes:
    factor: of the longest.
    low, high: a wavelength above original / low is long, one below
      original / high is short.
    original: positions before stretching.
  """

  factor: float
  low: float
  high: float
  original: int


class Yarn(NamedTuple):
  """Peng et al. 2023: pairs that turn seldom within `original` are stretched.

  Attributes:
    factor: of the slowest pairs.
    fast, slow: turns within `original` from which on a pair is left alone, and
      below which it is stretched by all of factor.
    original: positions before stretching.
    magnitude: of the rotated vectors.
    truncate: whether the ramp begins and ends at whole pairs.
  """

  factor: float
  fast: float
  slow: float
  original: int
  magnitude: float
  truncate: bool


Scaling = Linear | Llama3 | Yarn


def frequencies(depth: int, base: float, scaling: Scaling) -> np.ndarray:
  """Radians per position of the depth / 2 pairs, float32."""
  plain = base ** (-np.arange(depth // 2) / (depth // 2))
  if isinstance(scaling, Linear):
    scaled = plain / scaling.factor
  elif isinstance(scaling, Llama3):
    scaled = plain / llama3_divisors(plain, scaling)
  else:
    left_alone = 1 - _yarn_ramp(depth, base, scaling)
    scaled = plain * (left_alone + (1 - left_alone) / scaling.factor)
  return scaled.astype(np.float32)


def magnitude(scaling: Scaling) -> float:
  """What the rotated vectors are multiplied by."""
  return scaling.magnitude if isinstance(scaling, Yarn) else 1.0


def llama3_divisors(plain: np.ndarray, scaling: Llama3) -> np.ndarray:
  """What each of the plain frequencies is divided by."""
  turns = scaling.original * plain / (2 * np.pi)
  left_alone = (turns - scaling.low) / (scaling.high - scaling.low)
  left_alone = np.clip(left_alone, 0, 1)
  return 1 / (left_alone + (1 - left_alone) / scaling.factor)


def yarn_magnitude(factor: float, weight: float = 1.0) -> float:
  """YaRN's temperature of the attention, as a factor of queries and keys."""
  return 0.1 * weight * math.log(factor) + 1 if factor > 1 else 1.0


def _yarn_ramp(depth: int, base: float, scaling: Yarn) -> np.ndarray:
  """From 0, pairs left alone, to 1, pairs stretched by all of factor."""

  def pair(turns: float) -> float:
    """Which pair, as a real number, turns so often within `original`."""
    wavelength = scaling.original / (turns * 2 * math.pi)
    return depth * math.log(wavelength) / (2 * math.log(base))

  first, last = pair(scaling.fast), pair(scaling.slow)
  if scaling.truncate:
    first, last = math.floor(first), math.ceil(last)
  first, last = max(first, 0), min(last, depth - 1)
  width = max(last - first, 0.001)
  return np.clip((np.arange(depth // 2) - first) / width, 0, 1)
