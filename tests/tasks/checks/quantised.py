"""Of 8-bit and 4-bit weights: integers of any width."""

import numpy as np
from scipy import special


def _product(x, w):
  return np.einsum("mk,kn->mn", x.astype(np.int64), w.astype(np.int64))


def _halves(w):
  """Rows of -8 to 7, two of each row of bytes."""
  rows = []
  for row in w.astype(int):
    high, low = divmod(row, 16)
    rows += [low - 8, high - 8]
  return np.array(rows)


def int8_matmul(x, w):
  return _product(x, w)


def int8_matmul_scaled(x, w, a, scale):
  return np.diag(a) @ _product(x, w) @ np.diag(scale)


def int8_linear_relu(x, w, b):
  v = np.floor((_product(x, w) + b) / 512)
  return np.minimum(np.maximum(v, 0), 127)


def int8_weight_linear(x, w, scale):
  return x @ (w * scale)


def int4_weight_linear(x, w, scale):
  return x @ (_halves(w) * scale)


def int4_grouped_linear(x, w, scale, zero, groups, k):
  each = k // groups
  weights = _halves(w).astype(float)
  for row in range(k):
    group = row // each
    weights[row] = (weights[row] - zero[group]) * scale[group]
  return x @ weights


def int8_swiglu(x, w, z, scale):
  up = x @ (w * scale)
  return up * special.expit(up) * (x @ (z * scale))


def dequantise_int4(w, scale):
  return _halves(w) * scale


def quantise_int8(x):
  made = [[round(32 * v) for v in row] for row in x.tolist()]
  return np.array([[max(-127, min(127, v)) for v in row] for row in made])


def pack_int4(x):
  v = np.where(x < -8, -8, np.where(x > 7, 7, x)).astype(int) + 8
  return v[::2] + 16 * v[1::2]


def row_scales(x):
  return np.maximum(x.max(axis=1), -x.min(axis=1)) / 127
