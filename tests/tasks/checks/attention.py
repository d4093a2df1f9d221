"""Of attention and positions: one query at a time."""

import numpy as np
from scipy import special


def _one(q, k, v, keys, score=lambda s, j: s, sink=None):
  """A query and the keys it sees; score(s, j) is what becomes of s."""
  s = [score(q @ k[j] / np.sqrt(len(q)), j) for j in keys]
  p = special.softmax(s if sink is None else [*s, sink])
  return sum(p[at] * v[j] for at, j in enumerate(keys))


def _all(q, k, v, keys, score=lambda s, at, j, b, h: s, sink=None):
  """keys(at, b): what position `at` of sequence b sees."""
  y = np.zeros((*q.shape[:-1], v.shape[-1]))
  shared = q.shape[1] // k.shape[1]
  for b, h, at in np.ndindex(q.shape[:3]):
    y[b, h, at] = _one(
      q[b, h, at],
      k[b, h // shared],
      v[b, h // shared],
      keys(at, b),
      lambda s, j, at=at, b=b, h=h: score(s, at, j, b, h),
      None if sink is None else sink[h],
    )
  return y


def _before(at, b):
  return range(at + 1)


def attention(q, k, v, n):
  return _all(q, k, v, lambda at, b: range(n))


def causal_attention(q, k, v):
  return _all(q, k, v, _before)


def sliding_window_attention(q, k, v, window):
  return _all(q, k, v, lambda at, b: range(max(0, at - window + 1), at + 1))


def alibi_attention(q, k, v, heads):
  def score(s, at, j, b, h):
    return s - (at - j) * 0.5 ** (8 * (h + 1) / heads)

  return _all(q, k, v, _before, score)


def softcap_attention(q, k, v, cap):
  def score(s, at, j, b, h):
    return cap * (1 - 2 / (1 + np.exp(2 * s / cap)))

  return _all(q, k, v, _before, score)


def padded_attention(q, k, v, lengths):
  return _all(q, k, v, lambda at, b: range(lengths[b]))


def biased_attention(q, k, v, bias, n):
  return _all(
    q,
    k,
    v,
    lambda at, b: range(n),
    lambda s, at, j, b, h: s + bias[h, at, j],
  )


def sink_attention(q, k, v, sink):
  return _all(q, k, v, _before, sink=sink)


def block_causal_attention(q, k, v, block, n):
  def seen(at, b):
    return range(min(n, at - at % block + block))

  return _all(q, k, v, seen)


def grouped_query_attention(q, k, v):
  return _all(q, k, v, _before)


def multi_query_attention(q, k, v, n):
  return _all(q, k, v, lambda at, b: range(n))


def cross_attention(q, k, v, keys):
  return _all(q, k, v, lambda at, b: range(keys))


def decode_attention(q, k, v, lengths):
  y = _all(q[:, :, None], k, v, lambda at, b: range(lengths[b]))
  return y[:, :, 0]


def paged_decode_attention(q, k, v, table, lengths, page):
  y = np.zeros_like(q)
  shared = q.shape[1] // k.shape[2]
  for b, h in np.ndindex(q.shape[:2]):
    rows = [(table[b, j // page], j % page) for j in range(lengths[b])]
    keys = [k[p, at, h // shared] for p, at in rows]
    values = [v[p, at, h // shared] for p, at in rows]
    y[b, h] = _one(q[b, h], keys, values, range(lengths[b]))
  return y


def latent_decode_attention(q, k, n):
  y = np.zeros_like(q)
  for b, h in np.ndindex(q.shape[:2]):
    y[b, h] = _one(q[b, h], k[b], k[b], range(n))
  return y


def append_to_cache(cache, k, lengths):
  y = cache.copy()
  for b, at in enumerate(lengths):
    y[b, at] = k[b]
  return y


def _turned(a, b, angle):
  z = (a + 1j * b) * np.exp(1j * angle)
  return z.real, z.imag


def rope(x, angle, half):
  y = _turned(x[..., :half], x[..., half:], angle[:, None])
  return np.concatenate(y, axis=-1)


def rope_interleaved(x, angle):
  y = np.zeros_like(x)
  y[..., ::2], y[..., 1::2] = _turned(x[..., ::2], x[..., 1::2], angle[:, None])
  return y


def add_sinusoids(x, rows, cols):
  y = x.copy()
  for at, c in np.ndindex(rows, cols):
    t = at * np.exp(-np.log(10000) * (c - c % 2) / cols)
    y[at, c] += np.cos(t) if c % 2 else np.sin(t)
  return y


def relative_position_bias(table, buckets, n):
  y = np.zeros((table.shape[1], n, n))
  for h, i, j in np.ndindex(y.shape):
    y[h, i, j] = table[min(max(i - j, 0), buckets - 1), h]
  return y


def rope_attention(q, k, v, angle, half):
  q, k = (
    np.concatenate(_turned(t[..., :half], t[..., half:], angle), axis=-1)
    for t in (q, k)
  )
  return _all(q[None], k[None], v[None], _before)[0]
