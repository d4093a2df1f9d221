"""The evaluator's rule for right and wrong, on NumPy arrays.

csrc/core/compare.cc has the same for what candidates compute: kinds (finite,
NaN, which infinity) before values; floats within atol + rtol |expected|, others
equal.
"""

import numpy as np


def wrong(
  got: np.ndarray, expected: np.ndarray, rtol: float, atol: float
) -> np.ndarray:
  """Which elements are wrong. Raises ValueError unless shapes agree."""
  if got.shape != expected.shape:
    raise ValueError(f"got: expected shape {expected.shape}, got {got.shape}")
  if expected.dtype.kind in "iub":
    return got != expected
  got, expected = got.astype(np.float64), expected.astype(np.float64)
  finite = np.isfinite(got) & np.isfinite(expected)
  with np.errstate(invalid="ignore", over="ignore"):
    near = np.abs(got - expected) <= atol + rtol * np.abs(expected)
  same = (got == expected) | (np.isnan(got) & np.isnan(expected))
  return ~np.where(finite, near, same)
