"""Normalisations, forward and backward, alone and before a projection."""

from jaxkern.tasks.draws import normal, uniform
from jaxkern.tasks.families import ROWS, variants
from jaxkern.tasks.task import Task

_LOOP = "for (int c = 0; c < cols; ++c)"
_ROW = "const T* p = x + i * cols;\nfloat m = 0.0f, s = 0.0f;\n"
_MOMENTS = f"""{_ROW}{_LOOP} m += in(p[c]);
m /= cols;
{_LOOP} s += (in(p[c]) - m) * (in(p[c]) - m);
float r = 1.0f / sqrtf(s / cols + 1e-5f);
"""
_SQUARES = f"""{_ROW}{_LOOP} s += in(p[c]) * in(p[c]);
float r = 1.0f / sqrtf(s / cols + 1e-5f);
"""
_IMAGES = {
  "batch": (1, 2, 3, 2, 32),
  "channels": (2, 4, 8, 6, 64),
  "size": (3, 9, 35, 20, 1024),
}
_RMS = "x / jnp.sqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-5)"
# Rows of one element have nothing to be normalised by.
_WIDE = {**ROWS, "cols": (3, 33, 130, 67, 4096)}


def tasks() -> list[Task]:
  """All of the file."""
  return [
    *_rows(),
    *_images(),
    *_batches(),
    *_backward(),
    *_projections(),
    *_queries_and_keys(),
  ]


def _family(level, name, dtypes, *text, **more):
  more = {"terms": "cols", "sizes": _WIDE, "kinds": (), **more}
  tags = ("normalisation", *more.pop("tags", ()))
  return variants(
    "normalisation", level, name, dtypes, *text, tags=tags, **more
  )


def _rows() -> list[Task]:
  return [
    *_family(
      1,
      "layer_norm",
      "f32 bf16",
      "x[rows, cols], g[cols], b[cols] -> y[rows, cols]",
      "y = jax.nn.standardize(x, axis=-1, epsilon=1e-5) * g + b",
      "rows",
      _MOMENTS
      + f"{_LOOP} y[i * cols + c] = out((in(p[c]) - m) * r * in(g[c]) + in(b[c]));",
    ),
    *_family(
      1,
      "rms_norm",
      "f16 bf16",
      "x[rows, cols], g[cols] -> y[rows, cols]",
      f"y = {_RMS} * g",
      "rows",
      _SQUARES + f"{_LOOP} y[i * cols + c] = out(in(p[c]) * r * in(g[c]));",
    ),
    *_family(
      1,
      "l2_normalize",
      "f32",
      "x[rows, cols] -> y[rows, cols]",
      "y = x / jnp.linalg.norm(x, axis=-1, keepdims=True)",
      "rows",
      f"{_ROW}{_LOOP} s += p[c] * p[c];\n"
      f"{_LOOP} y[i * cols + c] = p[c] / sqrtf(s);",
    ),
    *_family(
      2,
      "residual_rms_norm",
      "f32 bf16",
      "x[rows, cols], r[rows, cols], g[cols] -> h[rows, cols], y[rows, cols]",
      """
      h = x + r
      y = h / jnp.sqrt(jnp.mean(h * h, axis=-1, keepdims=True) + 1e-5) * g
      """,
      "rows",
      f"""
      float s = 0.0f;
      {_LOOP} {{
        float v = in(x[i * cols + c]) + in(r[i * cols + c]);
        h[i * cols + c] = out(v);
        s += v * v;
      }}
      {_LOOP} {{
        float v = in(x[i * cols + c]) + in(r[i * cols + c]);
        y[i * cols + c] = out(v / sqrtf(s / cols + 1e-5f) * in(g[c]));
      }}
      """,
      tags=("fused", "residual"),
    ),
    *_family(
      2,
      "modulated_layer_norm",
      "f32",
      "x[rows, cols], shift[cols], scale[cols] -> y[rows, cols]",
      "y = jax.nn.standardize(x, axis=-1, epsilon=1e-5) * (1 + scale) + shift",
      "rows",
      _MOMENTS
      + f"{_LOOP} y[i * cols + c] = (p[c] - m) * r * (1.0f + scale[c]) + shift[c];",
      tags=("fused", "diffusion"),
    ),
  ]


def _images() -> list[Task]:
  return [
    *_family(
      1,
      "instance_norm",
      "f32",
      "x[batch, channels, size] -> y[batch, channels, size]",
      "y = jax.nn.standardize(x, axis=-1, epsilon=1e-5)",
      "batch * channels",
      _MOMENTS.replace("cols", "size")
      + "for (int c = 0; c < size; ++c) y[i * size + c] = (p[c] - m) * r;",
      sizes=_IMAGES,
      terms="size",
      tags=("images",),
    ),
    *_family(
      1,
      "group_norm",
      "f32",
      "x[batch, channels, size], g[channels], b[channels]"
      " -> y[batch, channels, size]",
      """
      v = jnp.reshape(x, (batch, groups, -1))
      v = jax.nn.standardize(v, axis=-1, epsilon=1e-5)
      y = jnp.reshape(v, x.shape) * g[:, None] + b[:, None]
      """,
      "batch * groups",
      _MOMENTS.replace("cols", "(channels / groups * size)")
      + """
for (int64_t c = 0; c < channels / groups * size; ++c) {
  int64_t k = i % groups * (channels / groups) + c / size;
  y[i * (channels / groups * size) + c] = (p[c] - m) * r * g[k] + b[k];
}""",
      sizes={**_IMAGES, "groups": (1, 2, 4, 3, 16)},
      terms="channels / groups * size",
      tags=("images",),
    ),
  ]


def _batches() -> list[Task]:
  return [
    *_family(
      1,
      "batch_norm_inference",
      "f32 f16",
      "x[batch, channels, size], mean[channels], var[channels], g[channels],"
      " b[channels] -> y[batch, channels, size]",
      """
      c = (slice(None), None)
      y = (x - mean[c]) / jnp.sqrt(var[c] + 1e-5) * g[c] + b[c]
      """,
      "batch * channels * size",
      """
      int64_t c = i / size % channels;
      float v = (in(x[i]) - in(mean[c])) / sqrtf(in(var[c]) + 1e-5f);
      y[i] = out(v * in(g[c]) + in(b[c]));
      """,
      sizes=_IMAGES,
      draws={"var": uniform(0.5, 2)},
      terms="1",
      tags=("images",),
    ),
    *_family(
      2,
      "batch_norm_training",
      "f32",
      "x[batch, channels, size], g[channels], b[channels]"
      " -> y[batch, channels, size], mean[channels], var[channels]",
      """
      mean, var = jnp.mean(x, axis=(0, 2)), jnp.var(x, axis=(0, 2))
      v = (x - mean[:, None]) / jnp.sqrt(var[:, None] + 1e-5)
      y = v * g[:, None] + b[:, None]
      """,
      "channels",
      """
      float m = 0.0f, s = 0.0f;
      int64_t count = batch * size;
      for (int64_t k = 0; k < count; ++k) {
        m += x[(k / size * channels + i) * size + k % size];
      }
      m /= count;
      for (int64_t k = 0; k < count; ++k) {
        float d = x[(k / size * channels + i) * size + k % size] - m;
        s += d * d;
      }
      mean[i] = m;
      var[i] = s / count;
      for (int64_t k = 0; k < count; ++k) {
        int64_t at = (k / size * channels + i) * size + k % size;
        y[at] = (x[at] - m) / sqrtf(s / count + 1e-5f) * g[i] + b[i];
      }
      """,
      sizes=_IMAGES,
      terms="batch * size",
      tags=("images", "statistics"),
    ),
  ]


def _backward() -> list[Task]:
  return [
    *_family(
      2,
      "layer_norm_backward",
      "f32",
      "x[rows, cols], g[cols], dy[rows, cols] -> dx[rows, cols]",
      """
      f = lambda v: jax.nn.standardize(v, axis=-1, epsilon=1e-5) * g
      dx = jax.vjp(f, x)[1](dy)[0]
      """,
      "rows",
      _MOMENTS
      + f"""
float a = 0.0f, b = 0.0f;
{_LOOP} {{
  float d = dy[i * cols + c] * g[c];
  a += d;
  b += d * (p[c] - m) * r;
}}
{_LOOP} {{
  float d = dy[i * cols + c] * g[c];
  dx[i * cols + c] = (d - a / cols - (p[c] - m) * r * b / cols) * r;
}}""",
      tags=("backward",),
    ),
    *_family(
      2,
      "rms_norm_backward",
      "f32 bf16",
      "x[rows, cols], g[cols], dy[rows, cols] -> dx[rows, cols]",
      f"dx = jax.vjp(lambda x: {_RMS} * g, x)[1](dy)[0]",
      "rows",
      _SQUARES
      + f"""
{_LOOP} m += in(dy[i * cols + c]) * in(g[c]) * in(p[c]);
{_LOOP} {{
  float d = in(dy[i * cols + c]) * in(g[c]);
  dx[i * cols + c] = out((d - in(p[c]) * r * r * m / cols) * r);
}}""",
      tags=("backward",),
    ),
  ]


def _projections() -> list[Task]:
  sizes = {
    "rows": (1, 7, 17, 9, 512),
    "cols": (3, 33, 66, 20, 1024),
    "n": (5, 12, 33, 18, 1024),
  }
  draws = {"w": normal("cols ** -0.5")}
  return [
    *_family(
      3,
      "rms_norm_linear",
      "f32 bf16",
      "x[rows, cols], g[cols], w[cols, n] -> y[rows, n]",
      f"y = ({_RMS} * g) @ w",
      "rows * n",
      """
      const T* p = x + i / n * cols;
      float s = 0.0f, v = 0.0f;
      for (int c = 0; c < cols; ++c) {
        s += in(p[c]) * in(p[c]);
        v += in(p[c]) * in(g[c]) * in(w[c * n + i % n]);
      }
      y[i] = out(v / sqrtf(s / cols + 1e-5f));
      """,
      sizes=sizes,
      draws=draws,
      tags=("matmul", "fused"),
    ),
    *_family(
      3,
      "layer_norm_linear_gelu",
      "f32",
      "x[rows, cols], g[cols], b[cols], w[cols, n], c[n] -> y[rows, n]",
      """
      h = jax.nn.standardize(x, axis=-1, epsilon=1e-5) * g + b
      y = jax.nn.gelu(h @ w + c, approximate=False)
      """,
      "rows * n",
      """
      const float* p = x + i / n * cols;
      float m = 0.0f, s = 0.0f, v = c[i % n];
      for (int k = 0; k < cols; ++k) m += p[k];
      m /= cols;
      for (int k = 0; k < cols; ++k) s += (p[k] - m) * (p[k] - m);
      float r = 1.0f / sqrtf(s / cols + 1e-5f);
      for (int k = 0; k < cols; ++k) {
        v += ((p[k] - m) * r * g[k] + b[k]) * w[k * n + i % n];
      }
      y[i] = 0.5f * v * erfcf(-0.70710678f * v);
      """,
      sizes=sizes,
      draws=draws,
      tags=("matmul", "fused"),
    ),
  ]


def _queries_and_keys() -> list[Task]:
  return [
    *_family(
      3,
      "qk_norm_scores",
      "f32",
      "q[heads, n, cols], k[heads, n, cols], a=8 -> y[heads, n, n]",
      """
      q = q / jnp.linalg.norm(q, axis=-1, keepdims=True)
      k = k / jnp.linalg.norm(k, axis=-1, keepdims=True)
      y = a * jnp.einsum("hqd,hkd->hqk", q, k)
      """,
      "heads * n * n",
      """
      const float* u = q + i / n * cols;
      const float* v = k + (i / (n * n) * n + i % n) * cols;
      float uu = 0.0f, vv = 0.0f, uv = 0.0f;
      for (int c = 0; c < cols; ++c) {
        uu += u[c] * u[c];
        vv += v[c] * v[c];
        uv += u[c] * v[c];
      }
      y[i] = a * uv / (sqrtf(uu) * sqrtf(vv));
      """,
      sizes={
        "heads": (1, 2, 3, 2, 16),
        "n": (3, 7, 17, 9, 512),
        "cols": (4, 16, 32, 8, 64),
      },
      tags=("attention", "matmul"),
    ),
  ]
