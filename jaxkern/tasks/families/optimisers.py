"""Steps of optimisers: all that is read and written once."""

from jaxkern.tasks.draws import normal, uniform
from jaxkern.tasks.families import FLAT, ROWS, variants
from jaxkern.tasks.task import Task

_M = {"m": normal("0.5"), "v": uniform(0.05, 1), "p": normal("1")}


def tasks() -> list[Task]:
  """All of the file."""
  return [*_momentum(), *_adams(), *_scaled(), *_factored()]


def _step(name, signature, reference, body, dtypes="f32", **more):
  """One thread per parameter."""
  names = [
    part.strip().partition("[")[0].partition(":")[0]
    for part in signature.split(",")
  ]
  return variants(
    "optimisers",
    2,
    name,
    dtypes,
    signature,
    reference,
    "n",
    body,
    sizes=FLAT,
    draws={n: d for n, d in _M.items() if n in names} | more.pop("draws", {}),
    kinds=(),
    tags=("optimiser",),
    **more,
  )


def _momentum() -> list[Task]:
  return [
    *_step(
      "sgd_momentum",
      "p[n], g[n], m[n], lr=0.1, mu=0.9 -> p1[n], m1[n]",
      "m1 = mu * m + g\np1 = p - lr * m1",
      "m1[i] = mu * m[i] + g[i];\np1[i] = p[i] - lr * (mu * m[i] + g[i]);",
    ),
    *_step(
      "nesterov_momentum",
      "p[n], g[n], m[n], lr=0.1, mu=0.9 -> p1[n], m1[n]",
      "m1 = mu * m + g\np1 = p - lr * (g + mu * m1)",
      """
      float u = mu * m[i] + g[i];
      m1[i] = u;
      p1[i] = p[i] - lr * (g[i] + mu * u);
      """,
    ),
  ]


def _adams() -> list[Task]:
  moments = """
m1 = b1 * m + (1 - b1) * g
v1 = b2 * v + (1 - b2) * g * g
"""
  cuda = """
float u = b1 * m[i] + (1.0f - b1) * g[i];
float w = b2 * v[i] + (1.0f - b2) * g[i] * g[i];
m1[i] = u;
v1[i] = w;
"""
  adam = "p[n], g[n], m[n], v[n], lr=0.1, b1=0.9, b2=0.95"
  outputs = " -> p1[n], m1[n], v1[n]"
  return [
    *_step(
      "adam",
      adam + outputs,
      moments
      + "p1 = p - lr * (m1 / (1 - b1**3)) / (jnp.sqrt(v1 / (1 - b2**3)) + 1e-8)",
      cuda
      + """
float a = u / (1.0f - b1 * b1 * b1), b = w / (1.0f - b2 * b2 * b2);
p1[i] = p[i] - lr * a / (sqrtf(b) + 1e-8f);""",
    ),
    *_step(
      "adamw",
      adam + ", decay=0.1" + outputs,
      moments + "p1 = p * (1 - lr * decay) - lr * m1 / (jnp.sqrt(v1) + 1e-8)",
      cuda
      + "p1[i] = p[i] * (1.0f - lr * decay) - lr * u / (sqrtf(w) + 1e-8f);",
    ),
    *_step(
      "adamw_mixed",
      "p:f32[n], g[n], m:f32[n], v:f32[n], lr=0.1, b1=0.9, b2=0.95, decay=0.1"
      " -> q[n]",
      moments + "q = p * (1 - lr * decay) - lr * m1 / (jnp.sqrt(v1) + 1e-8)",
      """
      float d = in(g[i]);
      float u = b1 * m[i] + (1.0f - b1) * d, w = b2 * v[i] + (1.0f - b2) * d * d;
      q[i] = out(p[i] * (1.0f - lr * decay) - lr * u / (sqrtf(w) + 1e-8f));
      """,
      "bf16",
    ),
    *_step(
      "lion",
      "p[n], g[n], m[n], lr=0.1, b1=0.9, b2=0.95 -> p1[n], m1[n]",
      "p1 = p - lr * jnp.sign(b1 * m + (1 - b1) * g)\n"
      "m1 = b2 * m + (1 - b2) * g",
      """
      float u = b1 * m[i] + (1.0f - b1) * g[i];
      p1[i] = p[i] - lr * ((u > 0.0f) - (u < 0.0f));
      m1[i] = b2 * m[i] + (1.0f - b2) * g[i];
      """,
      # A sign is right or wrong: u is not near 0.
      draws={
        "m": lambda rng, shape, _: (
          rng.choice((-1, 1), shape) * rng.uniform(0.5, 1, shape)
        ),
        "g": uniform(-2, 2),
      },
    ),
  ]


def _scaled() -> list[Task]:
  return [
    *_step(
      "adagrad",
      "p[n], g[n], v[n], lr=0.1 -> p1[n], v1[n]",
      "v1 = v + g * g\np1 = p - lr * g / (jnp.sqrt(v1) + 1e-8)",
      """
      float w = v[i] + g[i] * g[i];
      v1[i] = w;
      p1[i] = p[i] - lr * g[i] / (sqrtf(w) + 1e-8f);
      """,
    ),
    *_step(
      "rmsprop",
      "p[n], g[n], v[n], lr=0.1, b2=0.9 -> p1[n], v1[n]",
      "v1 = b2 * v + (1 - b2) * g * g\np1 = p - lr * g / jnp.sqrt(v1 + 1e-6)",
      """
      float w = b2 * v[i] + (1.0f - b2) * g[i] * g[i];
      v1[i] = w;
      p1[i] = p[i] - lr * g[i] / sqrtf(w + 1e-6f);
      """,
    ),
    *_step(
      "weight_average",
      "p[n], e[n], a=0.9 -> y[n]",
      "y = a * e + (1 - a) * p",
      "y[i] = a * e[i] + (1.0f - a) * p[i];",
    ),
  ]


def _factored() -> list[Task]:
  def rows(level, name, *text, **more):
    """Of matrices of parameters."""
    return variants(
      "optimisers",
      level,
      name,
      "f32",
      *text,
      sizes={
        **ROWS,
        "rows": (2, 7, 61, 33, 4096),
        "cols": (3, 33, 130, 67, 4096),
      },
      terms="cols",
      kinds=(),
      tags=("optimiser", "reduction"),
      **more,
    )

  return [
    *rows(
      3,
      "adafactor_rows",
      "g[rows, cols], r[rows], b2=0.9 -> y[rows]",
      "y = b2 * r + (1 - b2) * jnp.mean(g * g, axis=-1)",
      "rows",
      """
      float s = 0.0f;
      for (int c = 0; c < cols; ++c) s += g[i * cols + c] * g[i * cols + c];
      y[i] = b2 * r[i] + (1.0f - b2) * s / cols;
      """,
      draws={"r": uniform(0.5, 2)},
    ),
    *rows(
      3,
      "adafactor_update",
      "p[rows, cols], g[rows, cols], r[rows], c[cols], lr=0.1 -> y[rows, cols]",
      """
      v = r[:, None] * c[None] / jnp.mean(r)
      y = p - lr * g / jnp.sqrt(v)
      """,
      "rows * cols",
      """
      float mean = 0.0f;
      for (int k = 0; k < rows; ++k) mean += r[k];
      float v = r[i / cols] * c[i % cols] / (mean / rows);
      y[i] = p[i] - lr * g[i] / sqrtf(v);
      """,
      draws={"r": uniform(0.5, 2), "c": uniform(0.5, 2)},
    ),
    *rows(
      2,
      "clip_row_norms",
      "g[rows, cols], most=5 -> y[rows, cols]",
      """
      norm = jnp.linalg.norm(g, axis=-1, keepdims=True)
      y = g * jnp.minimum(1, most / norm)
      """,
      "rows",
      """
      float s = 0.0f;
      for (int c = 0; c < cols; ++c) s += g[i * cols + c] * g[i * cols + c];
      float scale = fminf(1.0f, most / sqrtf(s));
      for (int c = 0; c < cols; ++c) y[i * cols + c] = g[i * cols + c] * scale;
      """,
    ),
  ]
