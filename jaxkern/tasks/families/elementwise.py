"""Activations, arithmetic and integer operations: one element at a time."""

from jaxkern.tasks.draws import integers, normal, uniform
from jaxkern.tasks.families import FLAT, ROWS, variants
from jaxkern.tasks.task import Task


def tasks() -> list[Task]:
  """All of the file."""
  return [*_activations(), *_arithmetic(), *_integer(), *_pixels()]


def _activations() -> list[Task]:
  def map_(name, dtypes, reference, value, **more):
    """y = value of v."""
    return variants(
      "activations",
      1,
      name,
      dtypes,
      "x[n] -> y[n]",
      f"y = {reference}",
      "n",
      f"float v = in(x[i]);\ny[i] = out({value});",
      sizes=FLAT,
      tags=("elementwise",),
      **more,
    )

  return [
    *map_(
      "gelu_erf",
      "f32 bf16",
      "jax.nn.gelu(x, approximate=False)",
      "0.5f * v * erfcf(-0.70710678f * v)",
    ),
    *map_(
      "softplus",
      "f32",
      "jax.nn.softplus(x)",
      "fmaxf(v, 0.0f) + log1pf(expf(-fabsf(v)))",
    ),
    *map_(
      "mish",
      "f32",
      "x * jnp.tanh(jax.nn.softplus(x))",
      "v * tanhf(fmaxf(v, 0.0f) + log1pf(expf(-fabsf(v))))",
    ),
    *map_(
      "hard_swish",
      "f16",
      "x * jnp.clip(x + 3, 0, 6) / 6",
      "v * fminf(fmaxf(v + 3.0f, 0.0f), 6.0f) / 6.0f",
    ),
    *map_("elu", "f32", "jax.nn.elu(x)", "v > 0 ? v : expm1f(v)"),
    *map_(
      "squared_relu",
      "bf16",
      "jnp.square(jax.nn.relu(x))",
      "fmaxf(v, 0.0f) * fmaxf(v, 0.0f)",
    ),
    *map_(
      "softcap",
      "f32",
      "30 * jnp.tanh(x / 30)",
      "30.0f * tanhf(v / 30.0f)",
      draws={"x": normal("40")},
    ),
  ]


def _arithmetic() -> list[Task]:
  return [
    *variants(
      "arithmetic",
      1,
      "lerp",
      "f32 bf16",
      "x[n], z[n], w[n] -> y[n]",
      "y = x + w * (z - x)",
      "n",
      "y[i] = out(in(x[i]) + in(w[i]) * (in(z[i]) - in(x[i])));",
      sizes=FLAT,
      draws={"w": uniform(0, 1)},
      tags=("elementwise",),
    ),
    *variants(
      "arithmetic",
      1,
      "complex_multiply",
      "f32",
      "x[n, 2], z[n, 2] -> y[n, 2]",
      """
      re = x[:, 0] * z[:, 0] - x[:, 1] * z[:, 1]
      im = x[:, 0] * z[:, 1] + x[:, 1] * z[:, 0]
      y = jnp.stack([re, im], axis=1)
      """,
      "n",
      """
      float a = x[2 * i], b = x[2 * i + 1], c = z[2 * i], d = z[2 * i + 1];
      y[2 * i] = a * c - b * d;
      y[2 * i + 1] = a * d + b * c;
      """,
      sizes=FLAT,
      tags=("elementwise", "complex"),
    ),
    *variants(
      "arithmetic",
      1,
      "polynomial",
      "f32",
      "x[n], coefficients[8] -> y[n]",
      "y = jnp.polyval(coefficients, x)",
      "n",
      """
      float s = coefficients[0];
      for (int k = 1; k < 8; ++k) s = s * x[i] + coefficients[k];
      y[i] = s;
      """,
      sizes=FLAT,
      draws={"x": uniform(-1.5, 1.5)},
      tags=("elementwise",),
      flops="14 * n",
      terms="8",
    ),
    *variants(
      "arithmetic",
      2,
      "bias_gelu_dropout",
      "f32 bf16",
      "x[rows, cols], b[cols], keep:u8[rows, cols], scale=1.25 -> y[rows, cols]",
      "y = jnp.where(keep == 1, jax.nn.gelu(x + b, approximate=False) * scale, 0)",
      "rows * cols",
      """
      float v = in(x[i]) + in(b[i % cols]);
      v = 0.5f * v * erfcf(-0.70710678f * v) * scale;
      y[i] = out(keep[i] ? v : 0.0f);
      """,
      sizes=ROWS,
      draws={"keep": integers(0, "2")},
      tags=("fused",),
    ),
  ]


def _map_integers(name, reference, body, dtype="i32", **more):
  """y of x."""
  more = {"signature": "x[n] -> y[n]", "level": 1, **more}
  return variants(
    "integer",
    more.pop("level"),
    name,
    dtype,
    more.pop("signature"),
    reference,
    more.pop("threads", "n"),
    body,
    sizes=more.pop("sizes", FLAT),
    tags=("integer",),
    **more,
  )


def _integer() -> list[Task]:
  anything = {"x": integers(-(1 << 31), "1 << 31")}
  return [
    *_map_integers(
      "popcount",
      "y = lax.population_count(x)",
      "y[i] = __popc(x[i]);",
      draws=anything,
    ),
    *_map_integers(
      "gray_code",
      "y = x ^ lax.shift_right_logical(x, jnp.int32(1))",
      "y[i] = x[i] ^ (int)((unsigned)x[i] >> 1);",
      draws=anything,
    ),
    *_map_integers(
      "hash",
      """
      h = x.astype(jnp.uint32)
      h = (h ^ (h >> 16)) * jnp.uint32(0x85EBCA6B)
      h = (h ^ (h >> 13)) * jnp.uint32(0xC2B2AE35)
      y = (h ^ (h >> 16)).astype(jnp.int32)
      """,
      """
      unsigned h = (unsigned)x[i];
      h = (h ^ (h >> 16)) * 0x85EBCA6Bu;
      h = (h ^ (h >> 13)) * 0xC2B2AE35u;
      y[i] = (int)(h ^ (h >> 16));
      """,
      draws=anything,
    ),
    *_map_integers(
      "saturating_add",
      """
      s = x.astype(jnp.int32) + z.astype(jnp.int32)
      y = jnp.clip(s, -128, 127).astype(jnp.int8)
      """,
      """
      int s = (int)x[i] + (int)z[i];
      y[i] = (T)(s < -128 ? -128 : s > 127 ? 127 : s);
      """,
      "i8",
      signature="x[n], z[n] -> y[n]",
    ),
  ]


def _pixels() -> list[Task]:
  return [
    *_map_integers(
      "rgb_to_gray",
      """
      c = x.astype(jnp.int32)
      y = ((77 * c[:, 0] + 150 * c[:, 1] + 29 * c[:, 2] + 128) >> 8)
      y = y.astype(jnp.uint8)
      """,
      """
      int s = 77 * x[3 * i] + 150 * x[3 * i + 1] + 29 * x[3 * i + 2];
      y[i] = (T)((s + 128) >> 8);
      """,
      "u8",
      signature="x[n, 3] -> y[n]",
    ),
    *_map_integers(
      "life",
      """
      s = sum(
        jnp.roll(x, (a, b), (0, 1)).astype(jnp.int32)
        for a in (-1, 0, 1) for b in (-1, 0, 1)
      ) - x
      y = ((s == 3) | ((x == 1) & (s == 2))).astype(jnp.uint8)
      """,
      """
      int64_t r = i / cols, c = i % cols;
      int s = 0;
      for (int a = 0; a < 3; ++a) {
        for (int b = 0; b < 3; ++b) {
          int64_t at = (r + a + rows - 1) % rows * cols;
          if (a != 1 || b != 1) s += x[at + (c + b + cols - 1) % cols];
        }
      }
      y[i] = s == 3 || (x[i] == 1 && s == 2);
      """,
      "u8",
      signature="x[rows, cols] -> y[rows, cols]",
      level=2,
      threads="rows * cols",
      sizes={"rows": (1, 7, 61, 33, 4096), "cols": (1, 33, 130, 67, 4096)},
      draws={"x": integers(0, "2")},
      flops="12 * rows * cols",
    ),
  ]
