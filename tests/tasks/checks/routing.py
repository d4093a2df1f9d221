"""Of experts, gathering, sorting and counting: one index at a time."""

import bisect
import collections

import numpy as np
from scipy import special


def _descending(row):
  return sorted(range(len(row)), key=lambda c: -row[c])


def top_k_gate(x, k):
  expert = np.array([_descending(row)[:k] for row in x])
  top = [[row[e] for e in some] for row, some in zip(x, expert, strict=True)]
  return special.softmax(top, axis=1), expert


def moe_dispatch(x, token):
  return np.stack([np.zeros(x.shape[1]) if t < 0 else x[t] for t in token])


def moe_combine(x, slot, weight):
  return np.stack(
    [
      sum(v * x[s] for s, v in zip(some, share, strict=True))
      for some, share in zip(slot, weight, strict=True)
    ]
  )


def grouped_matmul(x, expert, w):
  return np.stack([row @ w[e] for row, e in zip(x, expert, strict=True)])


def moe_mlp(x, expert, weight, w, u):
  y = np.zeros_like(x)
  for n, a in np.ndindex(expert.shape):
    h = x[n] @ w[expert[n, a]]
    y[n] += weight[n, a] * ((h * special.expit(h)) @ u[expert[n, a]])
  return y


def slots_in_experts(expert):
  seen, slots = collections.Counter(), []
  for e in expert.tolist():
    slots.append(seen[e])
    seen[e] += 1
  return np.array(slots)


def embedding(table, id):
  return np.stack([table[k] for k in id])


def embedding_bag(table, id, weight):
  return moe_combine(table, id, weight)


def embedding_backward(dy, id, rows):
  d = np.zeros((rows, dy.shape[1]))
  for k, row in zip(id, dy, strict=True):
    d[k] += row
  return d


def take_along_rows(x, id):
  rows = zip(x, id, strict=True)
  return np.array([[row[k] for k in some] for row, some in rows])


def permute_rows(x, to):
  return x[np.argsort(to)]


def roll_rows(x, shift):
  y = np.zeros_like(x)
  for r, c in np.ndindex(x.shape):
    y[r, (c + shift[r]) % x.shape[1]] = x[r, c]
  return y


def segment_sum(x, start, stop):
  return np.stack(
    [x[a:b].sum(axis=0) for a, b in zip(start, stop, strict=True)]
  )


def sort_rows(x):
  return np.array([sorted(row) for row in x.tolist()])


def argsort_rows(x):
  return np.array([_descending([-v for v in row]) for row in x.tolist()])


def sort_integers(x):
  return sort_rows(x)


def top_k(x, k):
  at = np.array([_descending(row)[:k] for row in x.tolist()])
  return take_along_rows(x, at), at


def median_of_rows(x):
  middle = x.shape[1] // 2
  return np.partition(x, middle, axis=1)[:, middle]


def search_sorted(edges, x):
  edges = edges.tolist()
  return np.array([bisect.bisect_right(edges, v) for v in x.tolist()])


def top_p_mask(x, p):
  y = np.zeros_like(x)
  for row, out in zip(x, y, strict=True):
    taken = 0.0
    for c in _descending(row):
      if taken >= p * row.sum():
        break
      out[c] = row[c]
      taken += row[c]
  return y


def histogram(x, bins):
  counts = collections.Counter(x.tolist())
  return np.array([counts[k] for k in range(bins)])


def weighted_histogram(x, w, bins):
  return np.bincount(x, w, bins)


def confusion_matrix(x, z, bins):
  pairs = collections.Counter(zip(x.tolist(), z.tolist(), strict=True))
  return np.array([[pairs[a, b] for b in range(bins)] for a in range(bins)])
