"""Mixtures of experts, embeddings, gathering and scattering."""

import numpy as np

from jaxkern.tasks.draws import distinct, integers, normal, uniform
from jaxkern.tasks.families import ROWS, variants
from jaxkern.tasks.task import Task

_MOE = {
  "n": (4, 17, 40, 25, 2048),
  "d": (3, 8, 20, 16, 256),
  "experts": (2, 4, 6, 5, 16),
}


def tasks() -> list[Task]:
  """All of the file."""
  return [
    *_gates(),
    *_dispatch(),
    *_experts(),
    *_slots(),
    *_embeddings(),
    *_gathering(),
    *_segments(),
  ]


def _distinct(rng, shape, attributes) -> np.ndarray:
  """The k best of a random order: no expert twice in a row."""
  order = rng.permuted(
    np.tile(np.arange(attributes["experts"]), (shape[0], 1)), axis=1
  )
  return order[:, : shape[1]]


def _in_segments(half):
  """A place in the first or the second half of each segment."""

  def draw(rng, shape, attributes):
    """As a Draw: starts before stops, whatever is drawn for the other."""
    step = attributes["n"] // attributes["segments"]
    middle = (step + 1) // 2
    ends = rng.integers(middle, step + 1, shape)
    places = ends if half else rng.integers(0, middle, shape)
    return np.arange(shape[0]) * step + places

  return draw


def _moe(level, name, dtypes, *text, **more):
  """Of routing."""
  more = {"sizes": {**_MOE, "k": (1, 2, 3, 2, 2)}, "kinds": (), **more}
  return variants("moe", level, name, dtypes, *text, tags=("moe",), **more)


def _gates() -> list[Task]:
  return [
    *_moe(
      2,
      "top_k_gate",
      "f32",
      "x[n, experts] -> weight[n, k], expert:i32[n, k]",
      """
      top, expert = lax.top_k(x, k)
      expert = expert.astype(jnp.int32)
      weight = jax.nn.softmax(top, axis=-1)
      """,
      "n",
      """
      const float* p = x + i * experts;
      float sum = 0.0f, first = 0.0f;
      for (int a = 0; a < k; ++a) {
        int best = -1;
        for (int e = 0; e < experts; ++e) {
          bool taken = false;
          for (int b = 0; b < a; ++b) taken |= expert[i * k + b] == e;
          if (!taken && (best < 0 || p[e] > p[best])) best = e;
        }
        if (a == 0) first = p[best];
        expert[i * k + a] = best;
        weight[i * k + a] = expf(p[best] - first);
        sum += expf(p[best] - first);
      }
      for (int a = 0; a < k; ++a) weight[i * k + a] /= sum;
      """,
      sizes={
        "n": (16, 20, 70, 33, 16384),
        "experts": (4, 6, 16, 8, 64),
        "k": (2, 2, 4, 3, 8),
      },
      draws={"x": distinct},
      terms="k",
    ),
  ]


def _dispatch() -> list[Task]:
  return [
    *_moe(
      2,
      "moe_dispatch",
      "f32 bf16",
      "x[n, d], token:i32[slots] -> y[slots, d]",
      "y = jnp.where((token >= 0)[:, None], x[jnp.maximum(token, 0)], 0)",
      "slots * d",
      """
      int t = token[i / d];
      y[i] = out(t < 0 ? 0.0f : in(x[t * d + i % d]));
      """,
      sizes={
        **{s: _MOE[s] for s in ("n", "d")},
        "slots": (5, 20, 64, 40, 4096),
      },
      draws={"token": integers(-1, "n")},
    ),
    *_moe(
      2,
      "moe_combine",
      "f32 bf16",
      "x[slots, d], slot:i32[n, k], weight[n, k] -> y[n, d]",
      'y = jnp.einsum("nkd,nk->nd", x[slot], weight)',
      "n * d",
      """
      float s = 0.0f;
      for (int a = 0; a < k; ++a) {
        int64_t at = i / d * k + a;
        s += in(weight[at]) * in(x[slot[at] * d + i % d]);
      }
      y[i] = out(s);
      """,
      sizes={
        **{s: _MOE[s] for s in ("n", "d")},
        "slots": (5, 20, 64, 40, 4096),
        "k": (1, 2, 3, 2, 2),
      },
      draws={"slot": integers(0, "slots"), "weight": uniform(0.1, 1)},
      terms="k",
    ),
  ]


def _experts() -> list[Task]:
  return [
    *_moe(
      3,
      "grouped_matmul",
      "f32 bf16",
      "x[n, d], expert:i32[n], w[experts, d, m] -> y[n, m]",
      'y = jnp.einsum("nd,ndm->nm", x, w[expert])',
      "n * m",
      """
      const T* p = w + expert[i / m] * d * m + i % m;
      float s = 0.0f;
      for (int c = 0; c < d; ++c) s += in(x[i / m * d + c]) * in(p[c * m]);
      y[i] = out(s);
      """,
      sizes={
        "n": (4, 17, 40, 25, 1024),
        "d": (3, 8, 20, 16, 128),
        "experts": (2, 4, 6, 5, 8),
        "m": (5, 12, 15, 11, 128),
      },
      draws={
        "expert": lambda rng, shape, a: np.sort(
          rng.integers(0, a["experts"], shape)
        ),
        "w": normal("d ** -0.5"),
      },
      terms="d",
    ),
    *_moe(
      3,
      "moe_mlp",
      "f32",
      "x[n, d], expert:i32[n, k], weight[n, k], w[experts, d, m],"
      " u[experts, m, d] -> y[n, d]",
      """
      h = jax.nn.silu(jnp.einsum("nd,edm->nem", x, w))
      each = jnp.einsum("nem,emd->ned", h, u)
      picked = jnp.take_along_axis(each, expert[:, :, None], axis=1)
      y = jnp.einsum("nkd,nk->nd", picked, weight)
      """,
      "n * d",
      """
      float total = 0.0f;
      for (int a = 0; a < k; ++a) {
        int64_t e = expert[i / d * k + a];
        float t = 0.0f;
        for (int j = 0; j < m; ++j) {
          float s = 0.0f;
          for (int c = 0; c < d; ++c) {
            s += x[i / d * d + c] * w[(e * d + c) * m + j];
          }
          t += s / (1.0f + expf(-s)) * u[(e * m + j) * d + i % d];
        }
        total += weight[i / d * k + a] * t;
      }
      y[i] = total;
      """,
      sizes={
        "n": (4, 17, 20, 25, 512),
        "d": (3, 8, 12, 16, 128),
        "experts": (2, 4, 6, 5, 8),
        "k": (1, 2, 3, 2, 2),
        "m": (5, 12, 15, 11, 128),
      },
      draws={
        "expert": _distinct,
        "weight": uniform(0.1, 1),
        "w": normal("d ** -0.5"),
        "u": normal("m ** -0.5"),
      },
      terms="d + m + k",
    ),
  ]


def _slots() -> list[Task]:
  return [
    *_moe(
      2,
      "slots_in_experts",
      "i32",
      "expert[n] -> slot[n]",
      """
      one = jax.nn.one_hot(expert, experts, dtype=jnp.int32)
      count = jnp.cumsum(one, axis=0, dtype=jnp.int32) - 1
      slot = jnp.take_along_axis(count, expert[:, None], axis=1)[:, 0]
      """,
      "n",
      """
      int s = 0;
      for (int64_t j = 0; j < i; ++j) s += expert[j] == expert[i];
      slot[i] = s;
      """,
      sizes={"n": (4, 33, 120, 70, 16384), "experts": (2, 3, 5, 4, 64)},
      draws={"expert": integers(0, "experts")},
    ),
  ]


_TABLE = {
  "rows": (4, 19, 61, 33, 32768),
  "cols": (3, 17, 40, 21, 1024),
  "n": (5, 20, 70, 31, 16384),
}


def _gather(level, name, dtypes, *text, **more):
  """Of reading and writing by index."""
  more = {"sizes": _TABLE, "kinds": (), **more}
  return variants(
    "gather", level, name, dtypes, *text, tags=("indexing",), **more
  )


def _embeddings() -> list[Task]:
  ids = {"id": integers(0, "rows")}
  return [
    *_gather(
      1,
      "embedding",
      "f32 bf16",
      "table[rows, cols], id:i32[n] -> y[n, cols]",
      "y = table[id]",
      "n * cols",
      "y[i] = table[id[i / cols] * cols + i % cols];",
      draws=ids,
      traffic="8 * n * cols",
    ),
    *_gather(
      2,
      "embedding_bag",
      "f32",
      "table[rows, cols], id:i32[n, bag], weight[n, bag] -> y[n, cols]",
      'y = jnp.einsum("nbc,nb->nc", table[id], weight)',
      "n * cols",
      """
      float s = 0.0f;
      for (int b = 0; b < bag; ++b) {
        int64_t at = i / cols * bag + b;
        s += weight[at] * table[id[at] * cols + i % cols];
      }
      y[i] = s;
      """,
      sizes={
        **_TABLE,
        "bag": (1, 3, 5, 4, 8),
        "n": (5, 20, 70, 31, 4096),
        "cols": (4, 17, 40, 21, 128),
      },
      draws=ids,
      terms="bag",
      traffic="4 * n * cols * (bag + 1)",
    ),
    *_gather(
      2,
      "embedding_backward",
      "f32",
      "dy[n, cols], id:i32[n] -> d[rows, cols]",
      "d = jnp.zeros((rows, cols), dy.dtype).at[id].add(dy)",
      "rows * cols",
      """
      float s = 0.0f;
      for (int j = 0; j < n; ++j) {
        if (id[j] == i / cols) s += dy[j * cols + i % cols];
      }
      d[i] = s;
      """,
      sizes={
        "n": (9, 40, 90, 50, 4096),
        "cols": (3, 17, 40, 21, 256),
        "rows": (4, 9, 13, 8, 1024),
      },
      draws=ids,
      terms="n / rows",
    ),
  ]


def _gathering() -> list[Task]:
  return [
    *_gather(
      1,
      "take_along_rows",
      "f32",
      "x[rows, cols], id:i32[rows, k] -> y[rows, k]",
      "y = jnp.take_along_axis(x, id, axis=1)",
      "rows * k",
      "y[i] = x[i / k * cols + id[i]];",
      sizes={**ROWS, "cols": (3, 33, 130, 67, 4096), "k": (4, 9, 20, 11, 1024)},
      draws={"id": integers(0, "cols")},
      traffic="12 * rows * k",
    ),
    *_gather(
      1,
      "permute_rows",
      "f16",
      "x[rows, cols], to:i32[rows] -> y[rows, cols]",
      "y = jnp.zeros_like(x).at[to].set(x)",
      "rows * cols",
      "y[to[i / cols] * cols + i % cols] = x[i];",
      sizes={
        **ROWS,
        "rows": (3, 9, 61, 33, 8192),
        "cols": (5, 33, 130, 67, 1024),
      },
      draws={"to": lambda rng, shape, _: rng.permutation(shape[0])},
    ),
    *_gather(
      1,
      "roll_rows",
      "f32",
      "x[rows, cols], shift:i32[rows] -> y[rows, cols]",
      "y = jax.vmap(jnp.roll)(x, shift)",
      "rows * cols",
      "int64_t r = i / cols;\n"
      "y[i] = x[r * cols + (i % cols + cols - shift[r]) % cols];",
      sizes={**ROWS, "cols": (3, 33, 130, 67, 4096)},
      draws={"shift": integers(0, "cols")},
    ),
  ]


def _segments() -> list[Task]:
  return [
    *_gather(
      2,
      "segment_sum",
      "f32",
      "x[n, cols], start:i32[segments], stop:i32[segments] -> y[segments, cols]",
      """
      s = jnp.concatenate([jnp.zeros((1, cols), x.dtype), jnp.cumsum(x, 0)])
      y = s[stop] - s[start]
      """,
      "segments * cols",
      """
      float s = 0.0f;
      for (int j = start[i / cols]; j < stop[i / cols]; ++j) {
        s += x[j * cols + i % cols];
      }
      y[i] = s;
      """,
      sizes={
        "n": (6, 40, 90, 50, 1 << 16),
        "segments": (3, 8, 16, 9, 1 << 12),
        "cols": (3, 17, 20, 21, 128),
      },
      draws={"start": _in_segments(0), "stop": _in_segments(1)},
      terms="n / segments",
    ),
  ]
