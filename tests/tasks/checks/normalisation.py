"""Of normalisations."""

import numpy as np
from scipy import special

from .complex_step import of_rows


def _layer(x):
  mean = x.sum(axis=-1, keepdims=True) / x.shape[-1]
  mean_square = (x * x).sum(axis=-1, keepdims=True) / x.shape[-1]
  return (x - mean) / (mean_square - mean**2 + 1e-5) ** 0.5


def _rms(x):
  return x / ((x * x).sum(axis=-1, keepdims=True) / x.shape[-1] + 1e-5) ** 0.5


def layer_norm(x, g, b):
  return _layer(x) * g + b


def rms_norm(x, g):
  return _rms(x) * g


def l2_normalize(x):
  return np.stack([row / np.sqrt(row @ row) for row in x])


def residual_rms_norm(x, r, g):
  return r + x, _rms(r + x) * g


def modulated_layer_norm(x, shift, scale):
  y = _layer(x)
  return y + y * scale + shift


def instance_norm(x):
  return _layer(x)


def group_norm(x, g, b, groups):
  each = x.shape[1] // groups
  y = np.zeros_like(x)
  for n, k in np.ndindex(len(x), groups):
    some = slice(k * each, (k + 1) * each)
    v = x[n, some]
    y[n, some] = (v - v.mean()) / np.sqrt(v.var() + 1e-5)
  return y * g[None, :, None] + b[None, :, None]


def batch_norm_inference(x, mean, var, g, b):
  y = np.zeros_like(x)
  for c in range(x.shape[1]):
    scale = g[c] / np.sqrt(var[c] + 1e-5)
    y[:, c] = x[:, c] * scale + (b[c] - mean[c] * scale)
  return y


def batch_norm_training(x, g, b):
  mean = np.array([x[:, c].mean() for c in range(x.shape[1])])
  var = np.array([x[:, c].var() for c in range(x.shape[1])])
  return batch_norm_inference(x, mean, var, g, b), mean, var


def layer_norm_backward(x, g, dy):
  return of_rows(_layer, x, dy * g)


def rms_norm_backward(x, g, dy):
  return of_rows(_rms, x, dy * g)


def rms_norm_linear(x, g, w):
  return np.einsum("rc,c,cn->rn", _rms(x), g, w)


def layer_norm_linear_gelu(x, g, b, w, c):
  v = np.einsum("rk,k,kn->rn", _layer(x), g, w) + b @ w + c
  return v * special.ndtr(v)


def qk_norm_scores(q, k, a):
  y = np.zeros((len(q), q.shape[1], k.shape[1]))
  for h, i, j in np.ndindex(y.shape):
    u, v = q[h, i], k[h, j]
    y[h, i, j] = a * (u @ v) / np.sqrt((u @ u) * (v @ v))
  return y
