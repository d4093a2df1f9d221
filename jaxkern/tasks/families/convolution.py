"""Convolutions and pooling, alone and in blocks of networks."""

from jaxkern.tasks.define import normal
from jaxkern.tasks.families import variants
from jaxkern.tasks.task import Task

_LINE = {
  "batch": (1, 2, 2, 3, 16),
  "channels": (1, 3, 4, 2, 64),
  "n": (4, 17, 60, 33, 2048),
  "width": (2, 3, 4, 3, 4),
}
_IMAGE = {
  "batch": (1, 1, 2, 2, 16),
  "channels": (1, 3, 4, 2, 64),
  "h": (3, 9, 13, 8, 56),
  "w": (4, 7, 14, 9, 56),
}
_CONV = "lax.conv_general_dilated(x, k, {stride}, {padding}{more})"


def tasks() -> list[Task]:
  """All of the file."""
  return [*_lines(), *_images(), *_blocks(), *_pooling(), *_layouts()]


def _family(family, level, name, dtypes, *text, **more):
  more = {"terms": "1", "kinds": (), "sizes": _IMAGE, **more}
  tags = ("images", *more.pop("tags", ()))
  return variants(family, level, name, dtypes, *text, tags=tags, **more)


def _lines() -> list[Task]:
  more = dict(tags=("signal",))
  return [
    *_family(
      "convolution",
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
      "convolution",
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
      "convolution",
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
_FILTERED = {**_IMAGE, "filters": (2, 4, 3, 3, 64)}


def _images() -> list[Task]:
  def conv(name, dtypes, stride=1, dilation=1, size=3):
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
      "convolution",
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

  return [
    *conv("conv2d", "f32 f16"),
    *conv("conv2d_strided", "f32", stride=2),
    *conv("conv2d_dilated", "f32", dilation=2),
    *conv("conv2d_5x5", "f32", size=5),
    *_family(
      "convolution",
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
      "convolution",
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
    *_family(
      "convolution",
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
      "convolution",
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


def _blocks() -> list[Task]:
  call = _CONV.format(stride=(1, 1), padding=((1, 1), (1, 1)), more="")
  signature = "x[batch, channels, h, w], k[filters, channels, 3, 3]"
  draws = {"k": normal("(9 * channels) ** -0.5")}
  return [
    *_family(
      "convolution",
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
      "convolution",
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
      "convolution",
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
    *_family(
      "convolution",
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
      "convolution",
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


def _pooling() -> list[Task]:
  at = """
  int64_t c = i / (oh * ow), r = i / ow % oh, t = i % ow;
  """
  half = {
    **_IMAGE,
    "h": (4, 8, 14, 6, 112),
    "w": (6, 10, 16, 8, 112),
    "oh": "h // 2",
    "ow": "w // 2",
  }
  double = {**_IMAGE, "oh": "2 * h", "ow": "2 * w"}
  signature = "x[batch, channels, h, w] -> y[batch, channels, oh, ow]"
  threads = "batch * channels * oh * ow"
  four = "x[(c * h + 2 * r + a / 2) * w + 2 * t + a % 2]"
  blocks = "x.reshape(batch, channels, oh, 2, ow, 2)"
  return [
    *_family(
      "pooling",
      1,
      "max_pool2d",
      "f32 bf16",
      signature,
      f"y = jnp.max({blocks}, axis=(3, 5))",
      threads,
      f"{at}float m = -INFINITY;\n"
      f"for (int a = 0; a < 4; ++a) m = fmaxf(m, in({four}));\ny[i] = out(m);",
      sizes=half,
    ),
    *_family(
      "pooling",
      1,
      "average_pool2d",
      "f32",
      signature,
      f"y = jnp.mean({blocks}, axis=(3, 5))",
      threads,
      f"{at}float m = 0.0f;\n"
      f"for (int a = 0; a < 4; ++a) m += {four};\ny[i] = m / 4.0f;",
      sizes=half,
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
        **_IMAGE,
        "batch": (4, 5, 6, 4, 64),
        "channels": (4, 4, 5, 6, 512),
        "h": (3, 9, 13, 8, 14),
        "w": (4, 7, 14, 9, 14),
      },
      terms="h * w",
    ),
    *_family(
      "pooling",
      1,
      "bilinear_upsample",
      "f32",
      signature,
      'y = jax.image.resize(x, (batch, channels, oh, ow), "bilinear")',
      threads,
      at
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
      signature,
      "y = jnp.repeat(jnp.repeat(x, 2, axis=2), 2, axis=3)",
      threads,
      f"{at}y[i] = x[(c * h + r / 2) * w + t / 2];",
      sizes=double,
    ),
    *_family(
      "pooling",
      1,
      "max_pool2d_backward",
      "f32",
      "x[batch, channels, h, w], dy[batch, channels, oh, ow]"
      " -> dx[batch, channels, h, w]",
      f"dx = jax.vjp(lambda x: jnp.max({blocks}, axis=(3, 5)), x)[1](dy)[0]",
      "batch * channels * h * w",
      """
      int64_t c = i / (h * w), r = i / w % h / 2, t = i % w / 2;
      bool most = true;
      for (int a = 0; a < 4; ++a) {
        most &= x[i] >= x[(c * h + 2 * r + a / 2) * w + 2 * t + a % 2];
      }
      dx[i] = most ? dy[(c * oh + r) * ow + t] : 0.0f;
      """,
      sizes=half,
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
      sizes={**_IMAGE, "channels": (2, 3, 4, 5, 64)},
    ),
  ]
