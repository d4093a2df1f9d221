"""Products of matrices and what is fused with them."""

from jaxkern.tasks.draws import normal
from jaxkern.tasks.families import variants
from jaxkern.tasks.task import Task

MKN = {
  "m": (1, 7, 33, 20, 2048),
  "k": (3, 33, 65, 31, 2048),
  "n": (5, 12, 47, 18, 2048),
}
DOT = """
float s = 0.0f;
for (int c = 0; c < k; ++c) s += in(x[i / n * k + c]) * in(w[c * n + i % n]);
"""
_SCALED = {"w": normal("k ** -0.5")}
GELU = "0.5f * s * erfcf(-0.70710678f * s)"


def tasks() -> list[Task]:
  """All of the file."""
  return [*_products(), *_structured(), *_fused()]


def product(level, name, dtypes, *text, **more):
  """Tasks whose sums are of k products."""
  more = {"terms": "k", "sizes": MKN, "kinds": (), **more}
  tags = ("matmul", *more.pop("tags", ()))
  family = more.pop("family", "matmul")
  return variants(family, level, name, dtypes, *text, tags=tags, **more)


def _products() -> list[Task]:
  return [
    *product(
      1,
      "matmul",
      "f32 f16 bf16",
      "x[m, k], w[k, n] -> y[m, n]",
      "y = x @ w",
      "m * n",
      DOT + "y[i] = out(s);",
    ),
    *product(
      1,
      "matmul_nt",
      "f32 bf16",
      "x[m, k], w[n, k] -> y[m, n]",
      "y = x @ w.T",
      "m * n",
      DOT.replace("w[c * n + i % n]", "w[i % n * k + c]") + "y[i] = out(s);",
    ),
    *product(
      1,
      "matmul_tn",
      "f32",
      "x[k, m], w[k, n] -> y[m, n]",
      "y = x.T @ w",
      "m * n",
      DOT.replace("x[i / n * k + c]", "x[c * m + i / n]") + "y[i] = s;",
    ),
    *product(
      1,
      "batched_matmul",
      "f32 bf16",
      "x[batch, m, k], w[batch, k, n] -> y[batch, m, n]",
      "y = x @ w",
      "batch * m * n",
      DOT.replace("w[c", "w[(i / (m * n) * k + c)") + "y[i] = out(s);",
      sizes={
        "batch": (1, 2, 3, 2, 32),
        "m": (1, 7, 33, 20, 256),
        "k": (3, 33, 40, 31, 256),
        "n": (5, 12, 37, 18, 256),
      },
    ),
    *product(
      1,
      "tall_matmul",
      "f32",
      "x[m, k], w[k, n] -> y[m, n]",
      "y = x @ w",
      "m * n",
      DOT + "y[i] = s;",
      sizes={
        "m": (17, 60, 300, 77, 1 << 20),
        "k": (2, 5, 8, 4, 16),
        "n": (2, 3, 7, 5, 16),
      },
      tags=("skinny",),
    ),
    *product(
      1,
      "vector_matrix",
      "f16 bf16",
      "x[k], w[k, n] -> y[n]",
      "y = x @ w",
      "n",
      """
      float s = 0.0f;
      for (int c = 0; c < k; ++c) s += in(x[c]) * in(w[c * n + i]);
      y[i] = out(s);
      """,
      sizes={"k": (3, 33, 257, 100, 8192), "n": (5, 65, 190, 70, 8192)},
      tags=("decode",),
    ),
  ]


def _structured() -> list[Task]:
  square = {"n": (3, 17, 47, 30, 1024)}
  return [
    *product(
      1,
      "triangular_matmul",
      "f32",
      "x[n, n], z[n, n] -> y[n, n]",
      "y = jnp.tril(x) @ z",
      "n * n",
      """
      float s = 0.0f;
      for (int c = 0; c <= i / n; ++c) s += x[i / n * n + c] * z[c * n + i % n];
      y[i] = s;
      """,
      sizes=square,
      terms="n",
      flops="n * n * (n + 1)",
      tags=("triangular",),
    ),
    *product(
      1,
      "gram_matrix",
      "f32",
      "x[k, n] -> y[n, n]",
      "y = x.T @ x",
      "n * n",
      """
      float s = 0.0f;
      for (int c = 0; c < k; ++c) s += x[c * n + i / n] * x[c * n + i % n];
      y[i] = s;
      """,
      sizes={"k": (3, 33, 65, 20, 2048), "n": (5, 12, 47, 18, 1024)},
      tags=("symmetric",),
    ),
    *product(
      1,
      "outer_product",
      "f32",
      "x[m], w[n] -> y[m, n]",
      "y = jnp.outer(x, w)",
      "m * n",
      "y[i] = x[i / n] * w[i % n];",
      sizes={"m": (1, 7, 61, 20, 4096), "n": (5, 33, 130, 67, 4096)},
      terms="1",
    ),
    *product(
      2,
      "block_diagonal_matmul",
      "f32",
      "x[m, blocks, k], w[blocks, k, n] -> y[m, blocks, n]",
      'y = jnp.einsum("mbk,bkn->mbn", x, w)',
      "m * blocks * n",
      """
      int64_t b = i / n % blocks;
      float s = 0.0f;
      for (int c = 0; c < k; ++c) {
        s += x[i / n * k + c] * w[(b * k + c) * n + i % n];
      }
      y[i] = s;
      """,
      sizes={
        "m": (1, 7, 33, 20, 1024),
        "blocks": (2, 3, 4, 3, 16),
        "k": (3, 33, 20, 31, 128),
        "n": (5, 12, 17, 18, 128),
      },
      tags=("grouped",),
    ),
  ]


def _fused() -> list[Task]:
  return [
    *product(
      2,
      "linear_gelu",
      "f32 bf16",
      "x[m, k], w[k, n], b[n] -> y[m, n]",
      "y = jax.nn.gelu(x @ w + b, approximate=False)",
      "m * n",
      DOT + f"s += in(b[i % n]);\ny[i] = out({GELU});",
      draws=_SCALED,
      tags=("fused",),
    ),
    *product(
      2,
      "linear_residual",
      "f32 f16",
      "x[m, k], w[k, n], b[n], r[m, n] -> y[m, n]",
      "y = x @ w + b + r",
      "m * n",
      DOT + "y[i] = out(s + in(b[i % n]) + in(r[i]));",
      draws=_SCALED,
      tags=("fused", "residual"),
    ),
    *product(
      2,
      "gated_linear",
      "f32 bf16",
      "x[m, k], w[k, n], v[k, n] -> y[m, n]",
      "y = jax.nn.silu(x @ w) * (x @ v)",
      "m * n",
      """
      float s = 0.0f, t = 0.0f;
      for (int c = 0; c < k; ++c) {
        s += in(x[i / n * k + c]) * in(w[c * n + i % n]);
        t += in(x[i / n * k + c]) * in(v[c * n + i % n]);
      }
      y[i] = out(s / (1.0f + expf(-s)) * t);
      """,
      draws={**_SCALED, "v": normal("k ** -0.5")},
      tags=("fused", "gate"),
    ),
    *product(
      2,
      "matmul_row_max",
      "f32",
      "x[m, k], w[k, n] -> y[m]",
      "y = jnp.max(x @ w, axis=-1)",
      "m",
      """
      float best = -INFINITY;
      for (int j = 0; j < n; ++j) {
        float s = 0.0f;
        for (int c = 0; c < k; ++c) s += x[i * k + c] * w[c * n + j];
        best = fmaxf(best, s);
      }
      y[i] = best;
      """,
      sizes={
        **MKN,
        "m": (3, 17, 33, 20, 2048),
        "n": (5, 12, 47, 18, 256),
        "k": (3, 33, 65, 31, 256),
      },
      tags=("fused", "reduction"),
    ),
  ]
