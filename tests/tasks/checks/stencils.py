"""Of simulations and transforms."""

import numpy as np
from scipy import fft, ndimage
from scipy.spatial import distance


def heat_step(x, a):
  return x + a * ndimage.laplace(x, mode="nearest")


def wave_step(x, before, a):
  return 2 * x - before + a * ndimage.laplace(x, mode="wrap")


def gravity(p, m):
  y = np.zeros_like(p)
  for i, j in np.ndindex(len(p), len(p)):
    d = p[j] - p[i]
    y[i] += m[j] * d / (d @ d + 0.01) ** 1.5
  return y


def haar_step(x):
  pairs = x.reshape(len(x), -1, 2) @ np.array([[1, 1], [1, -1]]) * 0.5**0.5
  return pairs[..., 0], pairs[..., 1]


def cosine_transform(x):
  return fft.dct(x, type=2, axis=1) / 2


def radial_basis(x, c, w):
  return np.exp(-distance.cdist(x, c, "sqeuclidean") / 2) @ w
