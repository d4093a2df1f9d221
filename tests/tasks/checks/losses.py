"""Of losses."""

import numpy as np
from scipy import special, stats
from scipy.spatial import distance

from .complex_step import of_rows


def _picked(x, label):
  return np.array([row[k] for row, k in zip(x, label, strict=True)])


def cross_entropy(x, label):
  return special.logsumexp(x, axis=1) - _picked(x, label)


def label_smoothing(x, label, a):
  target = np.full_like(x, a / x.shape[1])
  for row, k in enumerate(label):
    target[row, k] += 1 - a
  return -(target * special.log_softmax(x, axis=1)).sum(axis=1)


def cross_entropy_z_loss(x, label, a):
  return cross_entropy(x, label) + a * special.logsumexp(x, axis=1) ** 2


def cross_entropy_backward(x, label, dy):
  def loss(x):
    return np.log(np.exp(x).sum(axis=1)) - _picked(x, label)

  return of_rows(loss, x, dy)


def focal_loss(x, label, a):
  p = _picked(special.softmax(x, axis=1), label)
  return a * (1 - p) ** 2 * np.log(1 / p)


def kl_divergence(x, z):
  p, q = special.softmax(x, axis=1), special.softmax(z, axis=1)
  return stats.entropy(p, q, axis=1)


def hinge_loss(x, label):
  return np.array(
    [
      sum(max(0, 1 + row[c] - row[k]) for c in range(len(row)) if c != k)
      for row, k in zip(x, label, strict=True)
    ]
  )


def huber_loss(x, z):
  return special.huber(1, x - z).mean(axis=1)


def binary_cross_entropy(x, z):
  y = z * special.log_expit(x) + (1 - z) * special.log_expit(-x)
  return -y.mean(axis=1)


def cosine_similarity(x, z):
  return np.array(
    [1 - distance.cosine(u, v) for u, v in zip(x, z, strict=True)]
  )


def triplet_loss(x, p, q, margin):
  rows = zip(x, p, q, strict=True)
  y = [
    distance.euclidean(a, b) - distance.euclidean(a, c) + margin
    for a, b, c in rows
  ]
  return np.array([max(v, 0) for v in y])


def clipped_surrogate(log_p, old, advantage, eps):
  y = np.zeros_like(log_p)
  for row, c in np.ndindex(y.shape):
    ratio, a = np.exp(log_p[row, c]) / np.exp(old[row, c]), advantage[row]
    # What a clip forbids is to gain more than eps.
    y[row, c] = -a * (min(ratio, 1 + eps) if a > 0 else max(ratio, 1 - eps))
  return y


def token_log_probs(x, label, t):
  return np.log(_picked(special.softmax(x / t, axis=1), label))
