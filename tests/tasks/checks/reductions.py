"""Of reductions and softmax."""

import numpy as np
from scipy import special, stats
from scipy.spatial import distance


def logsumexp(x):
  return special.logsumexp(x, axis=1)


def mean_and_variance(x):
  mean = x.sum(axis=1) / x.shape[1]
  return mean, (x * x).sum(axis=1) / x.shape[1] - mean**2


def argmax(x):
  return np.array([row.index(max(row)) for row in x.tolist()])


def max_magnitude(x):
  return np.maximum(x.max(axis=1), -x.min(axis=1))


def count_above(x):
  return np.array([sum(v > 0 for v in row) for row in x.tolist()])


def product(x):
  signs = (-1.0) ** (x < 0).sum(axis=1)
  return signs * np.exp(np.log(np.abs(x)).sum(axis=1))


def column_sum(x):
  return np.ones(len(x)) @ x


def middle_mean(x):
  return np.einsum("orc->oc", x) / x.shape[1]


def pairwise_distance(x, z):
  return distance.cdist(x, z)


def softmax(x):
  return special.softmax(x, axis=1)


def causal_softmax(x):
  y = np.zeros_like(x)
  for b, row in np.ndindex(x.shape[:2]):
    y[b, row, : row + 1] = special.softmax(x[b, row, : row + 1])
  return y


def softcap_softmax(x, cap):
  return special.softmax(cap * (2 * special.expit(2 * x / cap) - 1), axis=1)


def softmax_backward(y, dy):
  return np.stack(
    [(np.diag(p) - np.outer(p, p)) @ d for p, d in zip(y, dy, strict=True)]
  )


def softmax_entropy(x):
  return stats.entropy(special.softmax(x, axis=1), axis=1)


def segment_softmax(x, segment):
  y = np.zeros_like(x)
  for one in np.unique(segment):
    y[segment == one] = special.softmax(x[segment == one])
  return y
