"""Convolutions, alone and in blocks of networks."""

from jaxkern.tasks.draws import normal
from jaxkern.tasks.families import IMAGE, variants
from jaxkern.tasks.task import Task

_LINE = {
  "batch": (1, 2, 2, 3, 16),
  "channels": (1, 3, 4, 2, 64),
  "n": (4, 17, 60, 33, 2048),
  "width": (2, 3, 4, 3, 4),
}
_CONV = "lax.conv_general_dilated(x, k, {stride}, {padding}{more})"


def tasks() -> list[Task]:
  """All of the file."""
  return [*_lines(), *_images(), *_volumes(), *_fused(), *_blocks()]


def _family(level, name, dtypes, *text, **more):
  more = {"terms": "1", "kinds": (), "sizes": IMAGE, **more}
  tags = ("images", *more.pop("tags", ()))
  return variants("convolution", level, name, dtypes, *text, tags=tags, **more)


def _lines() -> list[Task]:
  more = dict(tags=("signal",))
  return [
    *_family(
      1,
      "conv1d",
      "f32",
      "x[batch, channels, n], k[filters, channels, width]"
      " -> y[batch, filters, m]",
      f"y = {_CONV.format(stride='(1,)', padding=repr('VALID'), more='')}",
      "batch * filters * m",
      """
      int64_t b = i / (filters * m), f = i / m % filters, t = i % m;
      float s = 0.0f;
      for (int c = 0; c < channels; ++c) {
        for (int j = 0; j < width; ++j) {
          s += x[(b * channels + c) * n + t + j]
              * k[(f * channels + c) * width + j];
        }
      }
      y[i] = s;
      """,
      sizes={**_LINE, "filters": (2, 4, 5, 3, 64), "m": "n - width + 1"},
      terms="channels * width",
      **more,
    ),
    *_family(
      1,
      "causal_depthwise_conv1d",
      "f32 bf16",
      "x[batch, n, channels], k[width, channels] -> y[batch, n, channels]",
      """
      p = jnp.pad(x, ((0, 0), (width - 1, 0), (0, 0)))
      y = sum(p[:, j : j + n] * k[j] for j in range(width))
      """,
      "batch * n * channels",
      """
      int64_t c = i % channels, t = i / channels % n;
      float s = 0.0f;
      for (int64_t j = 0; j < width; ++j) {
        int64_t back = width - 1 - j;
        if (t >= back) s += in(x[i - back * channels]) * in(k[j * channels + c]);
      }
      y[i] = out(s);
      """,
      sizes={**_LINE, "channels": (2, 3, 5, 4, 1024)},
      terms="width",
      **more,
    ),
    *_family(
      1,
      "conv1d_transpose",
      "f32",
      "x[batch, channels, n], k[channels, filters, width]"
      " -> y[batch, filters, m]",
      """
      y = lax.conv_general_dilated(
        x, jnp.flip(jnp.swapaxes(k, 0, 1), -1), (1,),
        ((width - 1, width - 1),), lhs_dilation=(2,),
      )
      """,
      "batch * filters * m",
      """
      int64_t b = i / (filters * m), f = i / m % filters, t = i % m;
      float s = 0.0f;
      for (int64_t j = 0; j < width; ++j) {
        if (t < j || (t - j) % 2 || (t - j) / 2 >= n) continue;
        for (int c = 0; c < channels; ++c) {
          s += x[(b * channels + c) * n + (t - j) / 2]
              * k[(c * filters + f) * width + j];
        }
      }
      y[i] = s;
      """,
      sizes={**_LINE, "filters": (2, 4, 5, 3, 32), "m": "2 * n - 2 + width"},
      terms="channels * width",
      **more,
    ),
  ]


def conv2d_sum(
  size="3", stride="1", dilation="1", x="x", shape="h * w", channels="channels"
) -> str:
  """Kernel text: s of output (b, f, r, t), zero-padded to keep the extents."""
  return f"""
float s = 0.0f;
for (int c = 0; c < {channels}; ++c) {{
  for (int a = 0; a < {size}; ++a) {{
    for (int e = 0; e < {size}; ++e) {{
      int64_t u = r * {stride} + (a - {size} / 2) * {dilation};
      int64_t v = t * {stride} + (e - {size} / 2) * {dilation};
      if (u < 0 || u >= h || v < 0 || v >= w) continue;
      s += in({x}[((b * {channels} + c) * h + u) * w + v])
          * in(k[((f * {channels} + c) * {size} + a) * {size} + e]);
    }}
  }}
}}
"""


_AT = """
int64_t b = i / (filters * h * w), f = i / (h * w) % filters;
int64_t r = i / w % h, t = i % w;
"""
_FILTERED = {**IMAGE, "filters": (2, 4, 3, 3, 64)}


def _padded(name, dtypes, stride=1, dilation=1, size=3):
  """Of `size` squared, with padding."""
  pad = size // 2 * dilation
  more = f", rhs_dilation=({dilation}, {dilation})" if dilation > 1 else ""
  call = _CONV.format(
    stride=(stride, stride), padding=((pad, pad), (pad, pad)), more=more
  )
  at, extents, sizes = _AT, ("h", "w"), dict(_FILTERED)
  if stride > 1:
    at = at.replace("h", "oh").replace("w", "ow")
    extents = ("oh", "ow")
    sizes |= {"oh": "(h + 1) // 2", "ow": "(w + 1) // 2"}
  return _family(
    1,
    name,
    dtypes,
    f"x[batch, channels, h, w], k[filters, channels, {size}, {size}]"
    f" -> y[batch, filters, {extents[0]}, {extents[1]}]",
    f"y = {call}",
    f"batch * filters * {extents[0]} * {extents[1]}",
    at + conv2d_sum(str(size), str(stride), str(dilation)) + "y[i] = out(s);",
    sizes=sizes,
    terms=f"channels * {size * size}",
  )


def _images() -> list[Task]:
  return [
    *_padded("conv2d", "f32 f16"),
    *_padded("conv2d_strided", "f32", stride=2),
    *_padded("conv2d_dilated", "f32", dilation=2),
    *_padded("conv2d_5x5", "f32", size=5),
    *_family(
      1,
      "conv2d_pointwise",
      "f32",
      "x[batch, channels, h, w], k[filters, channels] -> y[batch, filters, h, w]",
      'y = jnp.einsum("bchw,fc->bfhw", x, k)',
      "batch * filters * h * w",
      _AT
      + """
float s = 0.0f;
for (int c = 0; c < channels; ++c) {
  s += x[((b * channels + c) * h + r) * w + t] * k[f * channels + c];
}
y[i] = s;""",
      sizes=_FILTERED,
      terms="channels",
    ),
    *_family(
      1,
      "conv2d_depthwise",
      "f32 bf16",
      "x[batch, channels, h, w], k[channels, 3, 3] -> y[batch, channels, h, w]",
      """
      p = jnp.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
      y = sum(
        p[:, :, a : a + h, e : e + w] * k[:, a, e][:, None, None]
        for a in range(3) for e in range(3)
      )
      """,
      "batch * channels * h * w",
      _AT.replace("filters", "channels")
      + conv2d_sum(channels="1")
      .replace("(b * 1 + c)", "(b * channels + f)")
      .replace("(f * 1 + c)", "f")
      + "y[i] = out(s);",
      terms="9",
    ),
  ]


def _volumes() -> list[Task]:
  return [
    *_family(
      1,
      "conv3d",
      "f32",
      "x[batch, channels, z, h, w], k[filters, channels, 2, 2, 2]"
      " -> y[batch, filters, oz, oh, ow]",
      f"y = {_CONV.format(stride=(1, 1, 1), padding=repr('VALID'), more='')}",
      "batch * filters * oz * oh * ow",
      """
      int64_t t = i % ow, r = i / ow % oh, q = i / (ow * oh) % oz;
      int64_t f = i / (ow * oh * oz) % filters, b = i / (ow * oh * oz * filters);
      float s = 0.0f;
      for (int c = 0; c < channels; ++c) {
        for (int a = 0; a < 8; ++a) {
          int64_t plane = (b * channels + c) * z + q + a / 4;
          s += x[(plane * h + r + a / 2 % 2) * w + t + a % 2]
              * k[(f * channels + c) * 8 + a];
        }
      }
      y[i] = s;
      """,
      sizes={
        "batch": (1, 1, 2, 1, 8),
        "channels": (1, 3, 4, 2, 16),
        "z": (2, 4, 5, 4, 16),
        "h": (3, 5, 6, 4, 32),
        "w": (4, 6, 7, 5, 32),
        "filters": (2, 4, 3, 3, 16),
        "oz": "z - 1",
        "oh": "h - 1",
        "ow": "w - 1",
      },
      terms="channels * 8",
    ),
    *_family(
      1,
      "conv2d_transpose",
      "f32",
      "x[batch, channels, h, w], k[channels, filters, 2, 2]"
      " -> y[batch, filters, oh, ow]",
      """
      y = jnp.einsum("bchw,cfae->bfhawe", x, k).reshape(batch, -1, oh, ow)
      """,
      "batch * filters * oh * ow",
      """
      int64_t t = i % ow, r = i / ow % oh, f = i / (ow * oh) % filters;
      int64_t b = i / (ow * oh * filters);
      float s = 0.0f;
      for (int c = 0; c < channels; ++c) {
        s += x[((b * channels + c) * h + r / 2) * w + t / 2]
            * k[((c * filters + f) * 2 + r % 2) * 2 + t % 2];
      }
      y[i] = s;
      """,
      sizes={**_FILTERED, "oh": "2 * h", "ow": "2 * w"},
      terms="channels",
    ),
  ]


def _fused() -> list[Task]:
  call = _CONV.format(stride=(1, 1), padding=((1, 1), (1, 1)), more="")
  signature = "x[batch, channels, h, w], k[filters, channels, 3, 3]"
  draws = {"k": normal("(9 * channels) ** -0.5")}
  return [
    *_family(
      2,
      "conv2d_bias_relu",
      "f32",
      signature + ", bias[filters] -> y[batch, filters, h, w]",
      f"y = jax.nn.relu({call} + bias[:, None, None])",
      "batch * filters * h * w",
      _AT + conv2d_sum() + "y[i] = fmaxf(s + bias[f], 0.0f);",
      sizes=_FILTERED,
      draws=draws,
      terms="channels * 9",
      tags=("fused",),
    ),
    *_family(
      3,
      "conv2d_norm_silu",
      "f32 f16",
      signature + ", g[filters], bias[filters] -> y[batch, filters, h, w]",
      f"y = jax.nn.silu({call} * g[:, None, None] + bias[:, None, None])",
      "batch * filters * h * w",
      _AT
      + conv2d_sum()
      + "s = s * in(g[f]) + in(bias[f]);\ny[i] = out(s / (1.0f + expf(-s)));",
      sizes=_FILTERED,
      draws=draws,
      terms="channels * 9",
      tags=("fused", "normalisation"),
    ),
    *_family(
      3,
      "residual_conv2d",
      "f32",
      "x[batch, channels, h, w], k[channels, channels, 3, 3], g[channels]"
      " -> y[batch, channels, h, w]",
      f"y = jax.nn.relu(x + {call} * g[:, None, None])",
      "batch * channels * h * w",
      _AT.replace("filters", "channels")
      + conv2d_sum()
      + "y[i] = fmaxf(x[i] + s * g[f], 0.0f);",
      draws=draws,
      terms="channels * 9",
      tags=("fused", "residual"),
    ),
  ]


def _blocks() -> list[Task]:
  return [
    *_family(
      3,
      "separable_conv2d",
      "f32",
      "x[batch, channels, h, w], u[channels, 3, 3], k[filters, channels]"
      " -> y[batch, filters, h, w]",
      """
      p = jnp.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
      p = sum(
        p[:, :, a : a + h, e : e + w] * u[:, a, e][:, None, None]
        for a in range(3) for e in range(3)
      )
      y = jnp.einsum("bchw,fc->bfhw", jax.nn.relu(p), k)
      """,
      "batch * filters * h * w",
      _AT
      + """
float total = 0.0f;
for (int c = 0; c < channels; ++c) {
  float s = 0.0f;
  for (int a = 0; a < 9; ++a) {
    int64_t p = r + a / 3 - 1, q = t + a % 3 - 1;
    if (p < 0 || p >= h || q < 0 || q >= w) continue;
    s += x[((b * channels + c) * h + p) * w + q] * u[c * 9 + a];
  }
  total += fmaxf(s, 0.0f) * k[f * channels + c];
}
y[i] = total;""",
      sizes=_FILTERED,
      terms="channels * 9",
    ),
    *_family(
      3,
      "patch_embedding",
      "f32",
      "x[batch, 3, h, w], k[d, 3, patch, patch], bias[d], position[m, d]"
      " -> y[batch, m, d]",
      """
      v = lax.conv_general_dilated(x, k, (patch, patch), "VALID")
      y = jnp.swapaxes(v.reshape(batch, d, -1), 1, 2) + bias + position
      """,
      "batch * m * d",
      """
      int64_t f = i % d, at = i / d % m, b = i / (d * m);
      int64_t r = at / (w / patch) * patch, t = at % (w / patch) * patch;
      float s = bias[f] + position[at * d + f];
      for (int c = 0; c < 3; ++c) {
        for (int a = 0; a < patch; ++a) {
          for (int e = 0; e < patch; ++e) {
            s += x[((b * 3 + c) * h + r + a) * w + t + e]
                * k[((f * 3 + c) * patch + a) * patch + e];
          }
        }
      }
      y[i] = s;
      """,
      sizes={
        "batch": (1, 2, 2, 2, 32),
        "h": (2, 6, 8, 6, 224),
        "w": (4, 9, 12, 6, 224),
        "d": (4, 8, 20, 16, 384),
        "patch": (2, 3, 4, 3, 16),
        "m": "(h // patch) * (w // patch)",
      },
      draws={"k": normal("(3 * patch * patch) ** -0.5")},
      terms="3 * patch * patch",
      tags=("transformer",),
    ),
  ]
