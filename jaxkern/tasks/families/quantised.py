"""Products with 8-bit and 4-bit weights, and conversions to and from them."""

from jaxkern.tasks.draws import integers, normal, uniform
from jaxkern.tasks.families import ROWS, variants
from jaxkern.tasks.task import Task

_MKN = {
  "m": (1, 7, 33, 20, 512),
  "k": (4, 32, 64, 40, 2048),
  "n": (5, 12, 47, 18, 2048),
}
_SCALE = {"scale": uniform(0.01, 0.03)}
# Two per byte, the lower half first, from -8 to 7.
_UNPACK = """
low, high = (w & 15).astype(jnp.int32), (w >> 4).astype(jnp.int32)
v = jnp.stack([low, high], axis=1).reshape(k, n) - 8
"""


def tasks() -> list[Task]:
  """All of the file."""
  return [*_integer(), *_weights(), *_conversions()]


def _family(level, name, dtypes, *text, **more):
  more = {"sizes": _MKN, "terms": "k", "kinds": (), **more}
  return variants(
    "quantised", level, name, dtypes, *text, tags=("quantised",), **more
  )


def _integer() -> list[Task]:
  dot = """
int s = 0;
for (int c = 0; c < k; ++c) s += (int)x[i / n * k + c] * w[c * n + i % n];
"""
  product = "s = x.astype(jnp.int32) @ w.astype(jnp.int32)\n"
  return [
    *_family(
      2,
      "int8_matmul",
      "i8",
      "x[m, k], w[k, n] -> y:i32[m, n]",
      "y = x.astype(jnp.int32) @ w.astype(jnp.int32)",
      "m * n",
      dot + "y[i] = s;",
    ),
    *_family(
      3,
      "int8_matmul_scaled",
      "f32 bf16",
      "x:i8[m, k], w:i8[k, n], a:f32[m], scale:f32[n] -> y[m, n]",
      product + "y = s * a[:, None] * scale",
      "m * n",
      dot + "y[i] = out((float)s * a[i / n] * scale[i % n]);",
      draws={**_SCALE, "a": uniform(0.01, 0.03)},
    ),
    *_family(
      3,
      "int8_linear_relu",
      "i8",
      "x[m, k], w[k, n], b:i32[n] -> y[m, n]",
      product + "y = jnp.clip((s + b) >> 9, 0, 127).astype(jnp.int8)",
      "m * n",
      dot
      + """
s = (s + b[i % n]) >> 9;
y[i] = (T)(s < 0 ? 0 : s > 127 ? 127 : s);""",
      draws={"b": integers(-20000, "20000")},
    ),
  ]


def _weights() -> list[Task]:
  dot = """
float s = 0.0f;
for (int c = 0; c < k; ++c) {
  int v = %s;
  s += in(x[i / n * k + c]) * v%s;
}
"""
  eight = "w[c * n + i % n]"
  four = "(w[c / 2 * n + i % n] >> c % 2 * 4 & 15) - 8"
  return [
    *_family(
      3,
      "int8_weight_linear",
      "f32 bf16",
      "x[m, k], w:i8[k, n], scale:f32[n] -> y[m, n]",
      "y = (x @ w.astype(x.dtype)) * scale",
      "m * n",
      dot % (eight, "") + "y[i] = out(s * scale[i % n]);",
      draws=_SCALE,
    ),
    *_family(
      3,
      "int4_weight_linear",
      "f32 bf16",
      "x[m, k], w:u8[half, n], scale:f32[n] -> y[m, n]",
      _UNPACK + "y = (x @ v.astype(x.dtype)) * scale",
      "m * n",
      dot % (four, "") + "y[i] = out(s * scale[i % n]);",
      sizes={**_MKN, "half": "k // 2"},
      draws=_SCALE,
    ),
    *_family(
      3,
      "int4_grouped_linear",
      "f32 f16",
      "x[m, k], w:u8[half, n], scale:f32[groups, n], zero:i8[groups, n]"
      " -> y[m, n]",
      _UNPACK
      + """
v = v - jnp.repeat(zero.astype(jnp.int32), k // groups, axis=0)
y = x @ (v * jnp.repeat(scale, k // groups, axis=0))""",
      "m * n",
      dot.replace("s +=", "int g = c / (k / groups);\n  s +=")
      % (
        four,
        " * scale[g * n + i % n] - in(x[i / n * k + c])"
        " * zero[g * n + i % n] * scale[g * n + i % n]",
      )
      + "y[i] = out(s);",
      sizes={
        **_MKN,
        "half": "k // 2",
        "groups": "max(1, k // 32)",
        "k": (4, 32, 64, 96, 2048),
      },
      draws={**_SCALE, "zero": integers(-3, "4")},
    ),
    *_family(
      3,
      "int8_swiglu",
      "f32",
      "x[m, k], w:i8[k, n], z:i8[k, n], scale[n] -> y[m, n]",
      "y = jax.nn.silu((x @ w.astype(x.dtype)) * scale)"
      " * ((x @ z.astype(x.dtype)) * scale)",
      "m * n",
      """
      float s = 0.0f, t = 0.0f;
      for (int c = 0; c < k; ++c) {
        s += x[i / n * k + c] * w[c * n + i % n];
        t += x[i / n * k + c] * z[c * n + i % n];
      }
      s *= scale[i % n];
      y[i] = s / (1.0f + expf(-s)) * t * scale[i % n];
      """,
      draws={"scale": uniform(0.001, 0.002), "x": normal("1")},
    ),
  ]


def _conversions() -> list[Task]:
  return [
    *_family(
      1,
      "dequantise_int4",
      "f32 f16",
      "w:u8[half, n], scale:f32[n] -> y[k, n]",
      _UNPACK + "y = v * scale",
      "k * n",
      """
      int v = (w[i / n / 2 * n + i % n] >> i / n % 2 * 4 & 15) - 8;
      y[i] = out(v * scale[i % n]);
      """,
      sizes={
        "half": "k // 2",
        "n": (5, 12, 47, 18, 4096),
        "k": (4, 32, 64, 40, 4096),
      },
      draws=_SCALE,
      terms="1",
    ),
    *_family(
      1,
      "quantise_int8",
      "f32",
      "x[rows, cols] -> y:i8[rows, cols]",
      "y = jnp.clip(jnp.round(x * 32), -127, 127).astype(jnp.int8)",
      "rows * cols",
      "y[i] = (int8_t)fminf(fmaxf(rintf(x[i] * 32.0f), -127.0f), 127.0f);",
      sizes=ROWS,
      terms="1",
    ),
    *_family(
      1,
      "pack_int4",
      "u8",
      "x:i8[k, n] -> y[half, n]",
      """
      v = (jnp.clip(x, -8, 7).astype(jnp.int32) + 8).reshape(half, 2, n)
      y = (v[:, 0] | v[:, 1] << 4).astype(jnp.uint8)
      """,
      "half * n",
      """
      int low = x[i / n * 2 * n + i % n], high = x[(i / n * 2 + 1) * n + i % n];
      low = low < -8 ? -8 : low > 7 ? 7 : low;
      high = high < -8 ? -8 : high > 7 ? 7 : high;
      y[i] = (T)(low + 8 | high + 8 << 4);
      """,
      sizes={
        "half": "k // 2",
        "n": (5, 12, 47, 18, 4096),
        "k": (4, 32, 64, 40, 4096),
      },
      draws={"x": integers(-12, "12")},
      terms="1",
    ),
    *_family(
      2,
      "row_scales",
      "f32 bf16",
      "x[rows, cols] -> scale:f32[rows]",
      "scale = jnp.max(jnp.abs(x), axis=-1) / 127",
      "rows",
      """
      float m = 0.0f;
      for (int c = 0; c < cols; ++c) m = fmaxf(m, fabsf(in(x[i * cols + c])));
      scale[i] = m / 127.0f;
      """,
      sizes=ROWS,
      terms="1",
    ),
  ]
