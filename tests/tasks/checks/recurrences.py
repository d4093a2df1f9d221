"""Of scans, recurrences and linear attention."""

import itertools

import numpy as np
from scipy import signal, special


def cumulative_sum(x):
  return np.array([list(itertools.accumulate(row)) for row in x.tolist()])


def exclusive_sum(x):
  return np.array([[sum(row[:c]) for c in range(len(row))] for row in x])


def reverse_cumulative_sum(x):
  return cumulative_sum(x[:, ::-1])[:, ::-1]


def cumulative_max(x):
  return np.array([list(itertools.accumulate(row, max)) for row in x.tolist()])


def segmented_sum_scan(x, flag):
  y = np.zeros_like(x)
  for row, c in np.ndindex(x.shape):
    start = max((j for j in range(c + 1) if flag[row, j]), default=0)
    y[row, c] = x[row, start : c + 1].sum()
  return y


def generalised_advantages(r, v, gamma, lam):
  following = np.pad(v, ((0, 0), (0, 1)))[:, 1:]
  error = r + gamma * following - v
  y = np.zeros_like(r)
  for c in range(r.shape[1]):
    weights = (gamma * lam) ** np.arange(r.shape[1] - c)
    y[:, c] = error[:, c:] @ weights
  return y


def linear_recurrence(a, x):
  y = np.zeros_like(x)
  for t in range(x.shape[1]):
    # What is left at t of what came at s.
    for s in range(t + 1):
      y[:, t] += np.prod(a[:, s + 1 : t + 1], axis=1) * x[:, s]
  return y


def gated_recurrence(r, x, decay):
  a = np.exp(-8 * np.logaddexp(0, decay) * special.expit(r))
  return linear_recurrence(a, np.sqrt((1 - a) * (1 + a)) * x)


def exponential_average(x, a):
  return signal.lfilter([1 - a], [1, -a], x, axis=1)


def selective_scan(x, dt, a, b, c, skip, states):
  y = skip * x
  for s in range(states):
    decay = np.exp(-dt * a[:, s])
    h = linear_recurrence(decay, dt * x * b[:, :, s, None])
    y += h * c[:, :, s, None]
  return y


def _attend(q, k, v, weight):
  """sum_s weight(h, t, s) q_t k_s v_s, over s up to t."""
  y = np.zeros_like(v)
  for h, t in np.ndindex(v.shape[:2]):
    for s in range(t + 1):
      y[h, t] += (q[h, t] * weight(h, t, s)) @ k[h, s] * v[h, s]
  return y


def linear_attention(q, k, v):
  return np.stack(
    [np.tril(a @ b.T) @ c for a, b, c in zip(q, k, v, strict=True)]
  )


def retention(q, k, v, a):
  return _attend(q, k, v, lambda h, t, s: a ** (t - s))


def gated_linear_attention(q, k, v, g):
  return _attend(q, k, v, lambda h, t, s: np.prod(g[h, s + 1 : t + 1], axis=0))


def delta_rule(q, k, v, beta, d):
  y = np.zeros_like(v)
  for h in range(len(q)):
    state = np.zeros((d, d))
    for t in range(q.shape[1]):
      rate, key = beta[h, t], k[h, t]
      forget = np.eye(d) - rate * np.outer(key, key)
      state = forget @ state + rate * np.outer(key, v[h, t])
      y[h, t] = state.T @ q[h, t]
  return y
