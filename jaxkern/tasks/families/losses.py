"""Losses, one value per row, and a gradient."""

from jaxkern.tasks.draws import integers, normal, uniform
from jaxkern.tasks.families import ROWS, variants
from jaxkern.tasks.task import Task

_LOOP = "for (int c = 0; c < cols; ++c)"
_LOGSUM = f"""
const T* p = x + i * cols;
float m = -INFINITY, s = 0.0f;
{_LOOP} m = fmaxf(m, in(p[c]));
{_LOOP} s += expf(in(p[c]) - m);
float lse = m + logf(s);
"""
_WIDE = {**ROWS, "cols": (3, 33, 130, 67, 4096)}
_LABELS = {"label": integers(0, "cols")}


def _family(level, name, dtypes, *text, **more):
  more = {"terms": "cols", "sizes": _WIDE, "kinds": (), **more}
  return variants("losses", level, name, dtypes, *text, tags=("loss",), **more)


def tasks() -> list[Task]:
  """All of the file."""
  return [
    *_cross_entropies(),
    *_classification(),
    *_regression(),
    *_similarities(),
    *_policies(),
  ]


_LOG_P = "p = jax.nn.log_softmax(x, axis=-1)\n"
_PICKED = "jnp.take_along_axis(p, label[:, None], axis=-1)[:, 0]"
_LABELLED = "x[rows, cols], label:i32[rows] -> y[rows]"


def _cross_entropies() -> list[Task]:
  return [
    *_family(
      2,
      "cross_entropy",
      "f32 bf16",
      _LABELLED,
      f"{_LOG_P}y = -{_PICKED}",
      "rows",
      _LOGSUM + "y[i] = out(lse - in(p[label[i]]));",
      draws=_LABELS,
    ),
    *_family(
      2,
      "label_smoothing",
      "f32",
      "x[rows, cols], label:i32[rows], a=0.1 -> y[rows]",
      f"{_LOG_P}y = -(1 - a) * {_PICKED} - a * jnp.mean(p, axis=-1)",
      "rows",
      _LOGSUM
      + f"""
float sum = 0.0f;
{_LOOP} sum += p[c] - lse;
y[i] = -(1.0f - a) * (p[label[i]] - lse) - a * sum / cols;""",
      draws=_LABELS,
    ),
    *_family(
      2,
      "cross_entropy_z_loss",
      "f32",
      "x[rows, cols], label:i32[rows], a=0.01 -> y[rows]",
      f"""
p = x
z = jax.nn.logsumexp(x, axis=-1)
y = z - {_PICKED} + a * z * z""",
      "rows",
      _LOGSUM + "y[i] = lse - p[label[i]] + a * lse * lse;",
      draws=_LABELS,
    ),
    *_family(
      2,
      "cross_entropy_backward",
      "f32 bf16",
      "x[rows, cols], label:i32[rows], dy[rows] -> dx[rows, cols]",
      """
      p = jax.nn.softmax(x, axis=-1)
      dx = (p - jax.nn.one_hot(label, cols, dtype=x.dtype)) * dy[:, None]
      """,
      "rows",
      _LOGSUM
      + f"""
{_LOOP} {{
  float v = expf(in(p[c]) - m) / s - (c == label[i] ? 1.0f : 0.0f);
  dx[i * cols + c] = out(v * in(dy[i]));
}}""",
      draws=_LABELS,
    ),
  ]


def _classification() -> list[Task]:
  return [
    *_family(
      2,
      "focal_loss",
      "f32",
      _LABELLED.replace("label:i32[rows]", "label:i32[rows], a=0.25"),
      f"{_LOG_P}p = {_PICKED}\ny = -a * jnp.square(1 - jnp.exp(p)) * p",
      "rows",
      _LOGSUM
      + """
float v = p[label[i]] - lse, q = 1.0f - expf(v);
y[i] = -a * q * q * v;""",
      draws=_LABELS,
    ),
    *_family(
      2,
      "kl_divergence",
      "f32",
      "x[rows, cols], z[rows, cols] -> y[rows]",
      """
      p, q = jax.nn.log_softmax(x, axis=-1), jax.nn.log_softmax(z, axis=-1)
      y = jnp.sum(jnp.exp(p) * (p - q), axis=-1)
      """,
      "rows",
      _LOGSUM
      + f"""
const T* q = z + i * cols;
float n = -INFINITY, t = 0.0f, v = 0.0f;
{_LOOP} n = fmaxf(n, q[c]);
{_LOOP} t += expf(q[c] - n);
float other = n + logf(t);
{_LOOP} v += expf(p[c] - lse) * ((p[c] - lse) - (q[c] - other));
y[i] = v;""",
    ),
    *_family(
      2,
      "hinge_loss",
      "f32",
      _LABELLED,
      """
      right = jnp.take_along_axis(x, label[:, None], axis=-1)
      v = jnp.maximum(0, 1 + x - right)
      y = jnp.sum(v, axis=-1) - 1
      """,
      "rows",
      f"""
      const float* p = x + i * cols;
      float s = -1.0f;
      {_LOOP} s += fmaxf(0.0f, 1.0f + p[c] - p[label[i]]);
      y[i] = s;
      """,
      draws=_LABELS,
    ),
  ]


_PAIR = "x[rows, cols], z[rows, cols] -> y[rows]"


def _regression() -> list[Task]:
  return [
    *_family(
      2,
      "huber_loss",
      "f32",
      _PAIR,
      """
      d = jnp.abs(x - z)
      y = jnp.mean(jnp.where(d < 1, 0.5 * d * d, d - 0.5), axis=-1)
      """,
      "rows",
      f"""
      float s = 0.0f;
      {_LOOP} {{
        float d = fabsf(x[i * cols + c] - z[i * cols + c]);
        s += d < 1.0f ? 0.5f * d * d : d - 0.5f;
      }}
      y[i] = s / cols;
      """,
    ),
    *_family(
      2,
      "binary_cross_entropy",
      "f32",
      _PAIR,
      "y = jnp.mean(jnp.maximum(x, 0) - x * z + jnp.log1p(jnp.exp(-jnp.abs(x))),"
      " axis=-1)",
      "rows",
      f"""
      float s = 0.0f;
      {_LOOP} {{
        float v = x[i * cols + c];
        s += fmaxf(v, 0.0f) - v * z[i * cols + c] + log1pf(expf(-fabsf(v)));
      }}
      y[i] = s / cols;
      """,
      draws={"z": uniform(0, 1)},
    ),
  ]


def _similarities() -> list[Task]:
  return [
    *_family(
      2,
      "cosine_similarity",
      "f32",
      _PAIR,
      """
      n = jnp.linalg.norm(x, axis=-1) * jnp.linalg.norm(z, axis=-1)
      y = jnp.sum(x * z, axis=-1) / n
      """,
      "rows",
      f"""
      float xx = 0.0f, zz = 0.0f, xz = 0.0f;
      {_LOOP} {{
        float u = x[i * cols + c], v = z[i * cols + c];
        xx += u * u;
        zz += v * v;
        xz += u * v;
      }}
      y[i] = xz / (sqrtf(xx) * sqrtf(zz));
      """,
    ),
    *_family(
      2,
      "triplet_loss",
      "f32",
      "x[rows, cols], p[rows, cols], q[rows, cols], margin=2 -> y[rows]",
      """
      near = jnp.sqrt(jnp.sum(jnp.square(x - p), axis=-1))
      far = jnp.sqrt(jnp.sum(jnp.square(x - q), axis=-1))
      y = jnp.maximum(near - far + margin, 0)
      """,
      "rows",
      f"""
      float s = 0.0f, t = 0.0f;
      {_LOOP} {{
        int64_t at = i * cols + c;
        s += (x[at] - p[at]) * (x[at] - p[at]);
        t += (x[at] - q[at]) * (x[at] - q[at]);
      }}
      y[i] = fmaxf(sqrtf(s) - sqrtf(t) + margin, 0.0f);
      """,
    ),
  ]


def _policies() -> list[Task]:
  return [
    *_family(
      2,
      "clipped_surrogate",
      "f32",
      "log_p[rows, cols], old[rows, cols], advantage[rows], eps=0.2"
      " -> y[rows, cols]",
      """
      r = jnp.exp(log_p - old)
      a = advantage[:, None]
      y = -jnp.minimum(r * a, jnp.clip(r, 1 - eps, 1 + eps) * a)
      """,
      "rows * cols",
      """
      float r = expf(log_p[i] - old[i]), a = advantage[i / cols];
      y[i] = -fminf(r * a, fminf(fmaxf(r, 1.0f - eps), 1.0f + eps) * a);
      """,
      draws={"log_p": normal("0.3", -1.0), "old": normal("0.3", -1.0)},
      terms="1",
    ),
    *_family(
      2,
      "token_log_probs",
      "f32",
      "x[rows, cols], label:i32[rows], t=0.7 -> y[rows]",
      """
      p = jax.nn.log_softmax(x / t, axis=-1)
      y = jnp.take_along_axis(p, label[:, None], axis=-1)[:, 0]
      """,
      "rows",
      f"""
      const float* p = x + i * cols;
      float m = -INFINITY, s = 0.0f;
      {_LOOP} m = fmaxf(m, p[c] / t);
      {_LOOP} s += expf(p[c] / t - m);
      y[i] = p[label[i]] / t - m - logf(s);
      """,
      draws=_LABELS,
    ),
  ]
