"""Reductions, statistics and softmax: many elements into few."""

import numpy as np

from jaxkern.tasks.draws import integers, normal
from jaxkern.tasks.families import ROWS, variants
from jaxkern.tasks.task import Task

_LOOP = "for (int c = 0; c < cols; ++c)"
_MAX = f"""
const T* p = x + i * cols;
float m = -INFINITY, s = 0.0f;
{_LOOP} m = fmaxf(m, in(p[c]));
"""


def tasks() -> list[Task]:
  """All of the file."""
  return [
    *_statistics(),
    *_folds(),
    *_other_axes(),
    *_softmax(),
    *_after_softmax(),
  ]


def _rows(name, dtypes, reference, body, output="y[rows]", **more):
  """A thread per row."""
  return variants(
    "reductions",
    1,
    name,
    dtypes,
    f"x[rows, cols] -> {output}",
    reference,
    "rows",
    body,
    sizes=ROWS,
    terms="cols",
    tags=("reduction",),
    **more,
  )


def _statistics() -> list[Task]:
  moments = f"""
  const T* p = x + i * cols;
  float m = 0.0f, s = 0.0f;
  {_LOOP} m += in(p[c]);
  m /= cols;
  {_LOOP} s += (in(p[c]) - m) * (in(p[c]) - m);
  """
  return [
    *_rows(
      "logsumexp",
      "f32",
      "y = jax.nn.logsumexp(x, axis=-1)",
      _MAX + f"{_LOOP} s += expf(p[c] - m);\ny[i] = m + logf(s);",
    ),
    *_rows(
      "mean_and_variance",
      "f32",
      "mean, var = jnp.mean(x, axis=-1), jnp.var(x, axis=-1)",
      moments + "mean[i] = m;\nvar[i] = s / cols;",
      "mean[rows], var[rows]",
    ),
    *_argmax("f32", 2**-14),  # Less than tf32 and float16 can tell apart.
    *_argmax("bf16", 2**-6),
  ]


def _argmax(dtype: str, step: float) -> list[Task]:
  return _rows(
    "argmax",
    dtype,
    "y = jnp.argmax(x, axis=-1).astype(jnp.int32)",
    f"""
    const T* p = x + i * cols;
    int best = 0;
    {_LOOP} if (in(p[c]) > in(p[best])) best = c;
    y[i] = best;
    """,
    "y:i32[rows]",
    draws={"x": _contested(step)},
  )


def _folds() -> list[Task]:
  return [
    *_rows(
      "max_magnitude",
      "bf16",
      "y = jnp.max(jnp.abs(x), axis=-1)",
      f"""
      float m = 0.0f;
      {_LOOP} m = fmaxf(m, fabsf(in(x[i * cols + c])));
      y[i] = out(m);
      """,
    ),
    *_rows(
      "count_above",
      "i32",
      "y = jnp.sum(x > 0, axis=-1).astype(jnp.int32)",
      f"int s = 0;\n{_LOOP} s += x[i * cols + c] > 0;\ny[i] = s;",
    ),
    *_rows(
      "product",
      "f32",
      "y = jnp.prod(x, axis=-1)",
      f"float s = 1.0f;\n{_LOOP} s *= x[i * cols + c];\ny[i] = s;",
      draws={
        "x": lambda rng, shape, _: (
          rng.choice((-1, 1), shape) * rng.uniform(0.95, 1.05, shape)
        )
      },
    ),
  ]


def _other_axes() -> list[Task]:
  return [
    *variants(
      "reductions",
      1,
      "column_sum",
      "f32 f16",
      "x[rows, cols] -> y[cols]",
      "y = jnp.sum(x, axis=0)",
      "cols",
      """
      float s = 0.0f;
      for (int r = 0; r < rows; ++r) s += in(x[r * cols + i]);
      y[i] = out(s);
      """,
      sizes=ROWS,
      terms="rows",
      tags=("reduction",),
    ),
    *variants(
      "reductions",
      1,
      "middle_mean",
      "f32",
      "x[outer, rows, cols] -> y[outer, cols]",
      "y = jnp.mean(x, axis=1)",
      "outer * cols",
      """
      const float* p = x + i / cols * rows * cols + i % cols;
      float s = 0.0f;
      for (int r = 0; r < rows; ++r) s += p[r * cols];
      y[i] = s / rows;
      """,
      sizes={
        "outer": (1, 2, 5, 3, 64),
        "rows": (1, 9, 33, 17, 1024),
        "cols": (1, 33, 70, 19, 512),
      },
      terms="rows",
      tags=("reduction",),
    ),
    *variants(
      "reductions",
      2,
      "pairwise_distance",
      "f32",
      "x[n, k], z[m, k] -> y[n, m]",
      "y = jnp.sqrt(jnp.sum(jnp.square(x[:, None] - z[None]), axis=-1))",
      "n * m",
      """
      float s = 0.0f;
      for (int c = 0; c < k; ++c) {
        float d = x[i / m * k + c] - z[i % m * k + c];
        s += d * d;
      }
      y[i] = sqrtf(s);
      """,
      sizes={
        "n": (1, 7, 61, 33, 2048),
        "m": (1, 33, 50, 17, 2048),
        "k": (1, 3, 19, 8, 64),
      },
      terms="k",
      kinds=(),
      tags=("reduction", "geometry"),
    ),
  ]


_WEIGHTS = f"{_LOOP} s += expf(in(p[c]) - m);"


def _softmax() -> list[Task]:
  return [
    *variants(
      "softmax",
      1,
      "softmax",
      "f16 bf16",
      "x[rows, cols] -> y[rows, cols]",
      "y = jax.nn.softmax(x, axis=-1)",
      "rows",
      _MAX
      + _WEIGHTS
      + f"\n{_LOOP} y[i * cols + c] = out(expf(in(p[c]) - m) / s);",
      sizes=ROWS,
      terms="cols",
      tags=("reduction",),
    ),
    *variants(
      "softmax",
      2,
      "causal_softmax",
      "f32",
      "x[batch, n, n] -> y[batch, n, n]",
      "y = jax.nn.softmax(jnp.where(jnp.tri(n, dtype=bool), x, -jnp.inf), axis=-1)",
      "batch * n",
      """
      int64_t row = i % n;
      const float* p = x + i * n;
      float m = -INFINITY, s = 0.0f;
      for (int c = 0; c <= row; ++c) m = fmaxf(m, p[c]);
      for (int c = 0; c <= row; ++c) s += expf(p[c] - m);
      for (int c = 0; c < n; ++c) {
        y[i * n + c] = c <= row ? expf(p[c] - m) / s : 0.0f;
      }
      """,
      sizes={"batch": (1, 2, 3, 2, 32), "n": (1, 33, 61, 40, 1024)},
      terms="n",
      tags=("causal", "attention"),
    ),
    *variants(
      "softmax",
      2,
      "softcap_softmax",
      "f32 bf16",
      "x[rows, cols], cap=5 -> y[rows, cols]",
      "y = jax.nn.softmax(cap * jnp.tanh(x / cap), axis=-1)",
      "rows",
      f"""
      const T* p = x + i * cols;
      float s = 0.0f;
      {_LOOP} s += expf(cap * tanhf(in(p[c]) / cap) - cap);
      {_LOOP} {{
        y[i * cols + c] = out(expf(cap * tanhf(in(p[c]) / cap) - cap) / s);
      }}
      """,
      sizes=ROWS,
      draws={"x": normal("4")},
      terms="cols",
      tags=("reduction",),
    ),
  ]


def _after_softmax() -> list[Task]:
  return [
    *variants(
      "softmax",
      2,
      "softmax_backward",
      "f32 bf16",
      "y[rows, cols], dy[rows, cols] -> dx[rows, cols]",
      "dx = y * (dy - jnp.sum(y * dy, axis=-1, keepdims=True))",
      "rows",
      f"""
      float s = 0.0f;
      {_LOOP} s += in(y[i * cols + c]) * in(dy[i * cols + c]);
      {_LOOP} {{
        int64_t at = i * cols + c;
        dx[at] = out(in(y[at]) * (in(dy[at]) - s));
      }}
      """,
      sizes=ROWS,
      draws={"y": lambda rng, shape, _: _distributions(rng, shape)},
      kinds=(),
      terms="cols",
      tags=("reduction", "backward"),
    ),
    *variants(
      "softmax",
      2,
      "softmax_entropy",
      "f32",
      "x[rows, cols] -> y[rows]",
      """
      p = jax.nn.log_softmax(x, axis=-1)
      y = -jnp.sum(jnp.exp(p) * p, axis=-1)
      """,
      "rows",
      _MAX
      + _WEIGHTS
      + f"""
float h = 0.0f;
{_LOOP} h += expf(p[c] - m) * (p[c] - m);
y[i] = logf(s) - h / s;""",
      sizes=ROWS,
      draws={"x": normal("2")},
      terms="cols",
      tags=("reduction",),
    ),
    *variants(
      "softmax",
      2,
      "segment_softmax",
      "f32",
      "x[n], segment:i32[n] -> y[n]",
      """
      m = jax.ops.segment_max(x, segment, segments)[segment]
      e = jnp.exp(x - m)
      y = e / jax.ops.segment_sum(e, segment, segments)[segment]
      """,
      "n",
      """
      int64_t from = i, to = i + 1;
      while (from > 0 && segment[from - 1] == segment[i]) --from;
      while (to < n && segment[to] == segment[i]) ++to;
      float m = -INFINITY, s = 0.0f;
      for (int64_t k = from; k < to; ++k) m = fmaxf(m, x[k]);
      for (int64_t k = from; k < to; ++k) s += expf(x[k] - m);
      y[i] = expf(x[i] - m) / s;
      """,
      sizes={
        "n": (3, 257, 1024, 500, 1 << 20),
        "segments": (2, 40, 100, 70, 1 << 15),
      },
      draws={"segment": lambda rng, shape, a: _sorted(rng, shape, a)},
      terms="n / segments",
      tags=("reduction", "graph", "sorted"),
    ),
  ]


def _contested(step: float):
  """A row's maximum, which has no equal, is above the next by so much of it."""

  def draw(rng, shape, attributes):
    """Normal; a row in four is negative."""
    x = rng.standard_normal(shape)
    x[1::4] = -np.abs(x[1::4])
    top = x.max(axis=1)
    at = rng.integers(0, shape[1], shape[0])
    x[np.arange(shape[0]), at] = top + step * np.abs(top)
    return x

  return draw


def _distributions(rng, shape):
  weights = rng.uniform(0.1, 2, shape)
  return weights / weights.sum(-1, keepdims=True)


def _sorted(rng, shape, attributes):
  draw = integers(0, "segments")
  return sorted(draw(rng, shape, attributes))
