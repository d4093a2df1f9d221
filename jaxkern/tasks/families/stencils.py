"""Stencils, particles and transforms of scientific computing."""

from jaxkern.tasks.draws import normal
from jaxkern.tasks.families import variants
from jaxkern.tasks.task import Task


def tasks() -> list[Task]:
  """All of the file."""
  return [*_planes(), *_particles(), *_transforms()]


def _family(level, name, dtypes, *text, **more):
  """Of simulations."""
  more = {"kinds": (), **more}
  return variants(
    "simulation", level, name, dtypes, *text, tags=("science",), **more
  )


def _planes() -> list[Task]:
  plane = {"h": (3, 9, 33, 20, 4096), "w": (5, 17, 47, 31, 4096)}
  return [
    *_family(
      2,
      "heat_step",
      "f32",
      "x[h, w], a=0.2 -> y[h, w]",
      """
      p = jnp.pad(x, 1, mode="edge")
      s = p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2]
      y = x + a * (s - 4 * x)
      """,
      "h * w",
      """
      int64_t r = i / w, c = i % w;
      float up = x[r > 0 ? i - w : i], down = x[r + 1 < h ? i + w : i];
      float left = x[c > 0 ? i - 1 : i], right = x[c + 1 < w ? i + 1 : i];
      y[i] = x[i] + a * (up + down + left + right - 4.0f * x[i]);
      """,
      sizes=plane,
      terms="5",
    ),
    *_family(
      2,
      "wave_step",
      "f32",
      "x[d, h, w], before[d, h, w], a=0.1 -> y[d, h, w]",
      """
      s = sum(jnp.roll(x, o, k) for k in range(3) for o in (-1, 1))
      y = 2 * x - before + a * (s - 6 * x)
      """,
      "d * h * w",
      """
      int64_t q = i / (h * w), r = i / w % h, c = i % w;
      float s = x[((q + 1) % d * h + r) * w + c]
          + x[((q + d - 1) % d * h + r) * w + c]
          + x[(q * h + (r + 1) % h) * w + c]
          + x[(q * h + (r + h - 1) % h) * w + c]
          + x[(q * h + r) * w + (c + 1) % w]
          + x[(q * h + r) * w + (c + w - 1) % w];
      y[i] = 2.0f * x[i] - before[i] + a * (s - 6.0f * x[i]);
      """,
      sizes={
        "d": (3, 5, 9, 6, 256),
        "h": (3, 7, 12, 10, 256),
        "w": (4, 9, 17, 11, 256),
      },
      terms="8",
    ),
  ]


def _particles() -> list[Task]:
  return [
    *_family(
      3,
      "gravity",
      "f32",
      "p[n, 3], m[n] -> y[n, 3]",
      """
      d = p[None] - p[:, None]
      r = jnp.sum(d * d, axis=-1) + 0.01
      y = jnp.einsum("ij,ijk->ik", m / (r * jnp.sqrt(r)), d)
      """,
      "n",
      """
      float s[3] = {0.0f, 0.0f, 0.0f};
      for (int j = 0; j < n; ++j) {
        float d[3], r = 0.01f;
        for (int k = 0; k < 3; ++k) {
          d[k] = p[3 * j + k] - p[3 * i + k];
          r += d[k] * d[k];
        }
        for (int k = 0; k < 3; ++k) s[k] += m[j] / (r * sqrtf(r)) * d[k];
      }
      for (int k = 0; k < 3; ++k) y[3 * i + k] = s[k];
      """,
      sizes={"n": (7, 40, 101, 60, 4096)},
      terms="n",
      draws={"m": lambda rng, shape, _: rng.uniform(0.5, 1.5, shape)},
    ),
  ]


def _transforms() -> list[Task]:
  return [
    *_family(
      2,
      "haar_step",
      "f32",
      "x[rows, two] -> low[rows, half], high[rows, half]",
      """
      a, b = x[:, ::2], x[:, 1::2]
      low, high = (a + b) / jnp.sqrt(2.0), (a - b) / jnp.sqrt(2.0)
      """,
      "rows * half",
      """
      float a = x[2 * i], b = x[2 * i + 1];
      low[i] = (a + b) * 0.70710678f;
      high[i] = (a - b) * 0.70710678f;
      """,
      sizes={
        "rows": (2, 9, 33, 20, 4096),
        "half": (5, 17, 47, 31, 2048),
        "two": "2 * half",
      },
      terms="2",
    ),
    *_family(
      2,
      "cosine_transform",
      "f32",
      "x[rows, n] -> y[rows, n]",
      """
      k = jnp.arange(n)
      y = x @ jnp.cos(jnp.pi * (k[:, None] + 0.5) * k / n)
      """,
      "rows * n",
      """
      int64_t k = i % n;
      float s = 0.0f;
      for (int64_t j = 0; j < n; ++j) {
        float t = (float)((2 * j + 1) * k % (4 * n)) / (2 * n);
        s += x[i / n * n + j] * cospif(t);
      }
      y[i] = s;
      """,
      sizes={"rows": (2, 9, 33, 20, 8192), "n": (4, 16, 32, 20, 128)},
      terms="4 * n",
    ),
    *_family(
      2,
      "radial_basis",
      "f32",
      "x[n, d], c[m, d], w[m] -> y[n]",
      """
      r = jnp.sum(jnp.square(x[:, None] - c[None]), axis=-1)
      y = jnp.exp(-0.5 * r) @ w
      """,
      "n",
      """
      float s = 0.0f;
      for (int j = 0; j < m; ++j) {
        float r = 0.0f;
        for (int k = 0; k < d; ++k) {
          float v = x[i * d + k] - c[j * d + k];
          r += v * v;
        }
        s += expf(-0.5f * r) * w[j];
      }
      y[i] = s;
      """,
      sizes={
        "n": (20, 33, 100, 60, 65536),
        "d": (2, 3, 4, 3, 8),
        "m": (5, 20, 33, 24, 256),
      },
      terms="m",
      draws={"x": normal("0.7"), "c": normal("0.7")},
    ),
  ]
