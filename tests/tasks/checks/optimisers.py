"""Of optimisers' steps."""

import numpy as np


def sgd_momentum(p, g, m, lr, mu):
  return p - lr * mu * m - lr * g, g + mu * m


def nesterov_momentum(p, g, m, lr, mu):
  return p - lr * ((1 + mu) * g + mu**2 * m), g + mu * m


def _moments(g, m, v, b1, b2):
  return m + (1 - b1) * (g - m), v + (1 - b2) * (g**2 - v)


def adam(p, g, m, v, lr, b1, b2):
  m1, v1 = _moments(g, m, v, b1, b2)
  # The third step's rate, and epsilon in the corrected root's terms.
  rate, root = lr / (1 - b1**3), np.sqrt(1 - b2**3)
  return p - rate * root * m1 / (np.sqrt(v1) + 1e-8 * root), m1, v1


def adamw(p, g, m, v, lr, b1, b2, decay):
  m1, v1 = _moments(g, m, v, b1, b2)
  return p - lr * (decay * p + m1 / (v1**0.5 + 1e-8)), m1, v1


def adamw_mixed(p, g, m, v, lr, b1, b2, decay):
  return adamw(p, g, m, v, lr, b1, b2, decay)[0]


def lion(p, g, m, lr, b1, b2):
  up = b1 * m + (1 - b1) * g > 0
  return np.where(up, p - lr, p + lr), m + (1 - b2) * (g - m)


def adagrad(p, g, v, lr):
  v1 = v + g**2
  return p - lr * g / (v1**0.5 + 1e-8), v1


def rmsprop(p, g, v, lr, b2):
  v1 = v + (1 - b2) * (g**2 - v)
  return p - lr * g * (v1 + 1e-6) ** -0.5, v1


def weight_average(p, e, a):
  return p + a * (e - p)


def adafactor_rows(g, r, b2):
  mean_square = np.array([row @ row / len(row) for row in g])
  return r + (1 - b2) * (mean_square - r)


def adafactor_update(p, g, r, c, lr):
  factored = np.outer(r, c) * len(r) / r.sum()
  return p - lr * g * factored**-0.5


def clip_row_norms(g, most):
  y = g.copy()
  for row in y:
    norm = np.sqrt(row @ row)
    if norm > most:
      row *= most / norm
  return y
