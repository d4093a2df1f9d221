"""Positions: rotary ones, biases, and attention with them."""

from jaxkern.tasks.draws import normal
from jaxkern.tasks.families import ROWS, variants
from jaxkern.tasks.families.attention import one_query
from jaxkern.tasks.task import Task


def tasks() -> list[Task]:
  """All of the file."""
  return [*_rotary(), *_added(), *_attention()]


_SIZES = {
  "n": (2, 9, 33, 20, 4096),
  "d": (4, 16, 32, 8, 128),
  "heads": (1, 2, 3, 2, 16),
}
_HALF = {**_SIZES, "half": "d // 2"}
_DRAWS = {"angle": normal("2")}


def _family(name, dtypes, *text, **more):
  """Of positions."""
  more = {"terms": "1", "kinds": (), "sizes": _HALF, "level": 1, **more}
  return variants(
    "position",
    more.pop("level"),
    name,
    dtypes,
    *text,
    tags=("position",),
    **more,
  )


def _rotary() -> list[Task]:
  signature = "x[n, heads, d], angle:f32[n, half] -> y[n, heads, d]"
  return [
    *_family(
      "rope",
      "f32 bf16",
      signature,
      """
      a, b = jnp.split(x, 2, axis=-1)
      c, s = jnp.cos(angle)[:, None], jnp.sin(angle)[:, None]
      y = jnp.concatenate([a * c - b * s, b * c + a * s], axis=-1)
      """,
      "n * heads * half",
      """
      int64_t row = i / half, c = i % half;
      float t = angle[row / heads * half + c];
      float a = in(x[row * d + c]), b = in(x[row * d + half + c]);
      y[row * d + c] = out(a * cosf(t) - b * sinf(t));
      y[row * d + half + c] = out(b * cosf(t) + a * sinf(t));
      """,
      draws=_DRAWS,
    ),
    *_family(
      "rope_interleaved",
      "f32",
      signature,
      """
      a, b = x[..., ::2], x[..., 1::2]
      c, s = jnp.cos(angle)[:, None], jnp.sin(angle)[:, None]
      y = jnp.stack([a * c - b * s, b * c + a * s], axis=-1).reshape(x.shape)
      """,
      "n * heads * half",
      """
      float t = angle[i / half / heads * half + i % half];
      float a = x[2 * i], b = x[2 * i + 1];
      y[2 * i] = a * cosf(t) - b * sinf(t);
      y[2 * i + 1] = b * cosf(t) + a * sinf(t);
      """,
      draws=_DRAWS,
    ),
  ]


def _added() -> list[Task]:
  return [
    *_family(
      "add_sinusoids",
      "f32",
      "x[rows, cols] -> y[rows, cols]",
      """
      c = jnp.arange(cols) // 2 * 2
      t = jnp.arange(rows)[:, None] / 10000.0 ** (c / cols)
      y = x + jnp.where(jnp.arange(cols) % 2 == 0, jnp.sin(t), jnp.cos(t))
      """,
      "rows * cols",
      """
      int64_t c = i % cols;
      double t = i / cols / pow(10000.0, (double)(c / 2 * 2) / cols);
      y[i] = x[i] + (float)(c % 2 ? cos(t) : sin(t));
      """,
      sizes={
        **ROWS,
        "rows": (2, 7, 61, 33, 4096),
        "cols": (8, 32, 130, 66, 1024),
      },
    ),
    *_family(
      "relative_position_bias",
      "f32",
      "table[buckets, heads] -> y[heads, n, n]",
      """
      p = jnp.arange(n)
      b = jnp.clip(p[:, None] - p[None], 0, buckets - 1)
      y = jnp.moveaxis(table[b], -1, 0)
      """,
      "heads * n * n",
      """
      int64_t b = i / n % n - i % n;
      b = b < 0 ? 0 : b >= buckets ? buckets - 1 : b;
      y[i] = table[b * heads + i / (n * n)];
      """,
      sizes={
        "buckets": (2, 5, 12, 7, 128),
        "heads": (2, 2, 3, 2, 16),
        "n": (4, 9, 21, 14, 1024),
      },
    ),
  ]


def _attention() -> list[Task]:
  return [
    *_family(
      "rope_attention",
      "f32",
      "q[heads, n, d], k[heads, n, d], v[heads, n, d], angle[n, half]"
      " -> y[heads, n, d]",
      """
      c, s = jnp.cos(angle), jnp.sin(angle)
      turn = lambda a, b: jnp.concatenate([a * c - b * s, b * c + a * s], -1)
      q, k = (turn(*jnp.split(t, 2, axis=-1)) for t in (q, k))
      s = jnp.einsum("hqd,hkd->hqk", q, k) / jnp.sqrt(d)
      s = jnp.where(jnp.tri(n, dtype=bool), s, -jnp.inf)
      y = jnp.einsum("hqk,hkd->hqd", jax.nn.softmax(s, axis=-1), v)
      """,
      "heads * n",
      one_query("n", stop="at + 1").replace(
        "for (int c = 0; c < d; ++c) s += in(query[c]) * in(key[c]);",
        """for (int c = 0; c < half; ++c) {
    // Turning both is turning one by the difference.
    float t = angle[at * half + c] - angle[j * half + c];
    float a = query[c], b = query[half + c], e = key[c], f = key[half + c];
    s += (a * e + b * f) * cosf(t) + (a * f - b * e) * sinf(t);
  }""",
      ),
      sizes={
        "heads": (1, 2, 3, 2, 16),
        "n": (2, 9, 33, 20, 1024),
        "d": (4, 16, 32, 8, 64),
        "half": "d // 2",
      },
      draws=_DRAWS,
      level=3,
      terms="d + n",
    ),
  ]
