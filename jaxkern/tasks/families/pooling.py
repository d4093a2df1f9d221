"""Pooling, resizing and layouts of images."""

import numpy as np

from jaxkern.tasks.families import IMAGE, variants
from jaxkern.tasks.task import Task


def tasks() -> list[Task]:
  """All of the file."""
  return [*_pooling(), *_upsampling(), *_backward(), *_layouts()]


def _family(family, level, name, dtypes, *text, **more):
  more = {"terms": "1", "kinds": (), "sizes": IMAGE, **more}
  tags = ("images", *more.pop("tags", ()))
  return variants(family, level, name, dtypes, *text, tags=tags, **more)


_AT = """
  int64_t c = i / (oh * ow), r = i / ow % oh, t = i % ow;
  """
_HALF = {
  **IMAGE,
  "h": (4, 8, 14, 6, 112),
  "w": (6, 10, 16, 8, 112),
  "oh": "h // 2",
  "ow": "w // 2",
}
_SIGNATURE = "x[batch, channels, h, w] -> y[batch, channels, oh, ow]"
_THREADS = "batch * channels * oh * ow"
_BLOCKS = "x.reshape(batch, channels, oh, 2, ow, 2)"


def _pooling() -> list[Task]:
  four = "x[(c * h + 2 * r + a / 2) * w + 2 * t + a % 2]"
  return [
    *_family(
      "pooling",
      1,
      "max_pool2d",
      "f32 bf16",
      _SIGNATURE,
      f"y = jnp.max({_BLOCKS}, axis=(3, 5))",
      _THREADS,
      f"{_AT}float m = -INFINITY;\n"
      f"for (int a = 0; a < 4; ++a) m = fmaxf(m, in({four}));\ny[i] = out(m);",
      sizes=_HALF,
    ),
    *_family(
      "pooling",
      1,
      "average_pool2d",
      "f32",
      _SIGNATURE,
      f"y = jnp.mean({_BLOCKS}, axis=(3, 5))",
      _THREADS,
      f"{_AT}float m = 0.0f;\n"
      f"for (int a = 0; a < 4; ++a) m += {four};\ny[i] = m / 4.0f;",
      sizes=_HALF,
      terms="4",
    ),
    *_family(
      "pooling",
      1,
      "global_average_pool",
      "f32",
      "x[batch, channels, h, w] -> y[batch, channels]",
      "y = jnp.mean(x, axis=(2, 3))",
      "batch * channels",
      """
      float s = 0.0f;
      for (int64_t c = 0; c < h * w; ++c) s += x[i * h * w + c];
      y[i] = s / (h * w);
      """,
      sizes={
        **IMAGE,
        "batch": (4, 5, 6, 4, 64),
        "channels": (4, 4, 5, 6, 512),
        "h": (3, 9, 13, 8, 14),
        "w": (4, 7, 14, 9, 14),
      },
      terms="h * w",
    ),
  ]


def _upsampling() -> list[Task]:
  double = {**IMAGE, "oh": "2 * h", "ow": "2 * w"}
  return [
    *_family(
      "pooling",
      1,
      "bilinear_upsample",
      "f32",
      _SIGNATURE,
      'y = jax.image.resize(x, (batch, channels, oh, ow), "bilinear")',
      _THREADS,
      _AT
      + """
  // Output centres lie at quarters of an input's cell.
  int64_t r0 = (r + 1) / 2 - 1, t0 = (t + 1) / 2 - 1;
  float fr = r % 2 ? 0.25f : 0.75f, ft = t % 2 ? 0.25f : 0.75f, s = 0.0f;
  for (int a = 0; a < 4; ++a) {
    int64_t u = r0 + a / 2, v = t0 + a % 2;
    u = u < 0 ? 0 : u >= h ? h - 1 : u;
    v = v < 0 ? 0 : v >= w ? w - 1 : v;
    s += (a / 2 ? fr : 1.0f - fr) * (a % 2 ? ft : 1.0f - ft)
        * x[(c * h + u) * w + v];
  }
  y[i] = s;
  """,
      sizes=double,
      terms="4",
      flops="14 * batch * channels * oh * ow",
    ),
    *_family(
      "pooling",
      1,
      "nearest_upsample",
      "f16",
      _SIGNATURE,
      "y = jnp.repeat(jnp.repeat(x, 2, axis=2), 2, axis=3)",
      _THREADS,
      f"{_AT}y[i] = x[(c * h + r / 2) * w + t / 2];",
      sizes=double,
    ),
  ]


def _one_maximum(rng, shape, attributes) -> np.ndarray:
  """Normal; the last two bits say which of its window's four a value is."""
  row, col = np.indices(shape[-2:]) % 2
  bits = rng.standard_normal(shape, np.float32).view(np.uint32) & ~np.uint32(3)
  return (bits | (2 * row + col).astype(np.uint32)).view(np.float32)


def _backward() -> list[Task]:
  return [
    *_family(
      "pooling",
      1,
      "max_pool2d_backward",
      "f32",
      "x[batch, channels, h, w], dy[batch, channels, oh, ow]"
      " -> dx[batch, channels, h, w]",
      f"dx = jax.vjp(lambda x: jnp.max({_BLOCKS}, axis=(3, 5)), x)[1](dy)[0]",
      "batch * channels * h * w",
      """
      int64_t c = i / (h * w), r = i / w % h / 2, t = i % w / 2;
      bool most = true;
      for (int a = 0; a < 4; ++a) {
        most &= x[i] >= x[(c * h + 2 * r + a / 2) * w + 2 * t + a % 2];
      }
      dx[i] = most ? dy[(c * oh + r) * ow + t] : 0.0f;
      """,
      sizes=_HALF,
      draws={"x": _one_maximum},
      tags=("backward",),
    ),
  ]


def _layouts() -> list[Task]:
  return [
    *_family(
      "layout",
      1,
      "pixel_shuffle",
      "f32",
      "x[batch, four, h, w] -> y[batch, oh, ow]",
      """
      y = x.reshape(batch, 2, 2, h, w).transpose(0, 3, 1, 4, 2)
      y = y.reshape(batch, oh, ow)
      """,
      "batch * oh * ow",
      """
      int64_t b = i / (oh * ow), r = i / ow % oh, t = i % ow;
      y[i] = x[((b * 4 + r % 2 * 2 + t % 2) * h + r / 2) * w + t / 2];
      """,
      sizes={
        "batch": (1, 2, 3, 2, 256),
        "four": "4",
        "h": (3, 9, 13, 8, 128),
        "w": (4, 7, 14, 9, 128),
        "oh": "2 * h",
        "ow": "2 * w",
      },
    ),
    *_family(
      "layout",
      1,
      "image_to_columns",
      "f32",
      "x[channels, h, w] -> y[oh, ow, channels, 3, 3]",
      """
      p = [[x[:, a : a + oh, e : e + ow] for e in range(3)] for a in range(3)]
      y = jnp.transpose(jnp.stack([jnp.stack(q) for q in p]), (3, 4, 2, 0, 1))
      """,
      "oh * ow * channels * 9",
      """
      int64_t e = i % 3, a = i / 3 % 3, c = i / 9 % channels;
      int64_t t = i / 9 / channels % ow, r = i / 9 / channels / ow;
      y[i] = x[(c * h + r + a) * w + t + e];
      """,
      sizes={
        "channels": (1, 3, 4, 2, 64),
        "h": (4, 9, 13, 8, 224),
        "w": (5, 7, 14, 9, 224),
        "oh": "h - 2",
        "ow": "w - 2",
      },
    ),
    *_family(
      "layout",
      1,
      "channels_last",
      "bf16",
      "x[batch, channels, h, w] -> y[batch, h, w, channels]",
      "y = jnp.transpose(x, (0, 2, 3, 1))",
      "batch * channels * h * w",
      """
      int64_t c = i % channels, at = i / channels % (h * w);
      y[i] = x[(i / (channels * h * w) * channels + c) * h * w + at];
      """,
      sizes={**IMAGE, "channels": (2, 3, 4, 5, 64)},
    ),
  ]
