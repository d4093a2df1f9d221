"""Gradients without rules for them: f(x + ih) = f(x) + ih f'(x)."""

import numpy as np

_STEP = 1e-40


def of_rows(f, x, dy):
  """sum_c dy f(x) by each column of x; rows do not meet."""
  d = np.zeros_like(x)
  for c in range(x.shape[1]):
    moved = x.astype(complex)
    moved[:, c] += 1j * _STEP
    y = f(moved).imag / _STEP * dy
    d[:, c] = y.reshape(len(x), -1).sum(axis=1)
  return d


def of_elements(f, x):
  """f'(x)."""
  return f(x + 1j * _STEP).imag / _STEP
