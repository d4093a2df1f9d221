"""Of products, MLPs and Newton and Schulz's iteration."""

import numpy as np
from scipy import linalg, special

from .complex_step import of_elements


def _gelu(x):
  return x * special.ndtr(x)


def _silu(x):
  return x * special.expit(x)


def matmul(x, w):
  return np.einsum("mk,kn->mn", x, w)


def matmul_nt(x, w):
  return np.einsum("mk,nk->mn", x, w)


def matmul_tn(x, w):
  return np.einsum("km,kn->mn", x, w)


def batched_matmul(x, w):
  return np.stack([np.dot(a, b) for a, b in zip(x, w, strict=True)])


def tall_matmul(x, w):
  return sum(np.outer(x[:, c], w[c]) for c in range(len(w)))


def vector_matrix(x, w):
  return sum(v * row for v, row in zip(x, w, strict=True))


def triangular_matmul(x, z):
  return np.stack([x[r, : r + 1] @ z[: r + 1] for r in range(len(x))])


def gram_matrix(x):
  return sum(np.outer(row, row) for row in x)


def outer_product(x, w):
  return np.multiply.outer(x, w)


def block_diagonal_matmul(x, w):
  y = x.reshape(len(x), -1) @ linalg.block_diag(*w)
  return y.reshape(len(x), len(w), -1)


def linear_gelu(x, w, b):
  return _gelu(matmul(x, w) + b)


def linear_residual(x, w, b, r):
  return r + (matmul(x, w) + b)


def gated_linear(x, w, v):
  return _silu(matmul(x, w)) * matmul(x, v)


def matmul_row_max(x, w):
  return np.array([max(row @ column for column in w.T) for row in x])


def swiglu(x):
  return np.stack([_silu(a) * b for a, b in x])


def swiglu_backward(x, z, dy):
  return (
    of_elements(lambda x: x / (1 + np.exp(-x)), x) * z * dy,
    _silu(x) * dy,
  )


def mlp_gelu(x, w, u):
  return matmul(_gelu(matmul(x, w)), u)


def mlp_squared_relu(x, w, u):
  return matmul(np.maximum(matmul(x, w), 0) ** 2, u)


def mlp_swiglu(x, w, v, u):
  return matmul(_silu(matmul(x, w)) * matmul(x, v), u)


def mlp_geglu(x, w, v, u):
  return matmul(_gelu(matmul(x, w)) * matmul(x, v), u)


def lora_linear(x, w, p, q, a):
  return matmul(x, w + a * matmul(p, q))


def newton_schulz(x):
  # An odd polynomial of the singular values.
  u, s, v = np.linalg.svd(x)
  return (u * (3.4445 * s - 4.775 * s**3 + 2.0315 * s**5)) @ v
