"""Products of matrices and what is fused with them; MLPs."""

from jaxkern.tasks.define import normal
from jaxkern.tasks.families import variants
from jaxkern.tasks.task import Task

_MKN = {
  "m": (1, 7, 33, 20, 2048),
  "k": (3, 33, 65, 31, 2048),
  "n": (5, 12, 47, 18, 2048),
}
_DOT = """
float s = 0.0f;
for (int c = 0; c < k; ++c) s += in(x[i / n * k + c]) * in(w[c * n + i % n]);
"""
_SCALED = {"w": normal("k ** -0.5")}
_GELU = "0.5f * s * erfcf(-0.70710678f * s)"


def tasks() -> list[Task]:
  """All of the file."""
  return [*_products(), *_structured(), *_fused(), *_blocks()]


def _family(level, name, dtypes, *text, **more):
  more = {"terms": "k", "sizes": _MKN, "kinds": (), **more}
  tags = ("matmul", *more.pop("tags", ()))
  family = more.pop("family", "matmul")
  return variants(family, level, name, dtypes, *text, tags=tags, **more)


def _products() -> list[Task]:
  return [
    *_family(
      1,
      "matmul",
      "f32 f16 bf16",
      "x[m, k], w[k, n] -> y[m, n]",
      "y = x @ w",
      "m * n",
      _DOT + "y[i] = out(s);",
    ),
    *_family(
      1,
      "matmul_nt",
      "f32 bf16",
      "x[m, k], w[n, k] -> y[m, n]",
      "y = x @ w.T",
      "m * n",
      _DOT.replace("w[c * n + i % n]", "w[i % n * k + c]") + "y[i] = out(s);",
    ),
    *_family(
      1,
      "matmul_tn",
      "f32",
      "x[k, m], w[k, n] -> y[m, n]",
      "y = x.T @ w",
      "m * n",
      _DOT.replace("x[i / n * k + c]", "x[c * m + i / n]") + "y[i] = s;",
    ),
    *_family(
      1,
      "batched_matmul",
      "f32 bf16",
      "x[batch, m, k], w[batch, k, n] -> y[batch, m, n]",
      "y = x @ w",
      "batch * m * n",
      _DOT.replace("w[c", "w[(i / (m * n) * k + c)") + "y[i] = out(s);",
      sizes={
        "batch": (1, 2, 3, 2, 32),
        "m": (1, 7, 33, 20, 256),
        "k": (3, 33, 40, 31, 256),
        "n": (5, 12, 37, 18, 256),
      },
    ),
    *_family(
      1,
      "tall_matmul",
      "f32",
      "x[m, k], w[k, n] -> y[m, n]",
      "y = x @ w",
      "m * n",
      _DOT + "y[i] = s;",
      sizes={
        "m": (17, 60, 300, 77, 1 << 20),
        "k": (2, 5, 8, 4, 16),
        "n": (2, 3, 7, 5, 16),
      },
      tags=("skinny",),
    ),
    *_family(
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
    *_family(
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
    *_family(
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
    *_family(
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
    *_family(
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
    *_family(
      2,
      "linear_gelu",
      "f32 bf16",
      "x[m, k], w[k, n], b[n] -> y[m, n]",
      "y = jax.nn.gelu(x @ w + b, approximate=False)",
      "m * n",
      _DOT + f"s += in(b[i % n]);\ny[i] = out({_GELU});",
      draws=_SCALED,
      tags=("fused",),
    ),
    *_family(
      2,
      "linear_residual",
      "f32 f16",
      "x[m, k], w[k, n], b[n], r[m, n] -> y[m, n]",
      "y = x @ w + b + r",
      "m * n",
      _DOT + "y[i] = out(s + in(b[i % n]) + in(r[i]));",
      draws=_SCALED,
      tags=("fused", "residual"),
    ),
    *_family(
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
    *_family(
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
        **_MKN,
        "m": (3, 17, 33, 20, 2048),
        "n": (5, 12, 47, 18, 256),
        "k": (3, 33, 65, 31, 256),
      },
      tags=("fused", "reduction"),
    ),
    *_family(
      2,
      "swiglu",
      "f32 bf16",
      "x[m, two, n] -> y[m, n]",
      "y = jax.nn.silu(x[:, 0]) * x[:, 1]",
      "m * n",
      """
      float a = in(x[i / n * 2 * n + i % n]);
      y[i] = out(a / (1.0f + expf(-a)) * in(x[(i / n * 2 + 1) * n + i % n]));
      """,
      sizes={
        "m": (1, 7, 61, 20, 8192),
        "two": "2",
        "n": (5, 33, 130, 67, 2048),
      },
      terms="1",
      family="mlp",
      tags=("gate",),
    ),
    *_family(
      2,
      "swiglu_backward",
      "f32",
      "x[m, n], z[m, n], dy[m, n] -> dx[m, n], dz[m, n]",
      "dx, dz = jax.vjp(lambda x, z: jax.nn.silu(x) * z, x, z)[1](dy)",
      "m * n",
      """
      float s = 1.0f / (1.0f + expf(-x[i]));
      dx[i] = dy[i] * z[i] * s * (1.0f + x[i] * (1.0f - s));
      dz[i] = dy[i] * x[i] * s;
      """,
      sizes={"m": (1, 7, 61, 20, 4096), "n": (5, 33, 130, 67, 4096)},
      terms="1",
      family="mlp",
      tags=("gate", "backward"),
    ),
  ]


def _blocks() -> list[Task]:
  mlp = {
    "m": (2, 5, 9, 7, 256),
    "k": (4, 17, 33, 20, 512),
    "n": (8, 20, 50, 33, 1024),
  }
  draws = {
    "w": normal("k ** -0.5"),
    "v": normal("k ** -0.5"),
    "u": normal("n ** -0.5"),
  }
  first = (
    "for (int c = 0; c < k; ++c) s += in(x[r * k + c]) * in(w[c * n + j]);"
  )

  def mlp_task(name, dtypes, reference, value, gated=False):
    """down(value(up)): each thread does the whole row."""
    extra = second = ""
    if gated:
      extra = ", v[k, n]"
      second = "float t = 0.0f;\n  " + first.replace("s +=", "t +=").replace(
        "w[c", "v[c"
      )
    own = {name: d for name, d in draws.items() if gated or name != "v"}
    return _family(
      3,
      name,
      dtypes,
      f"x[m, k], w[k, n]{extra}, u[n, k] -> y[m, k]",
      reference,
      "m * k",
      f"""
int64_t r = i / k;
float total = 0.0f;
for (int j = 0; j < n; ++j) {{
  float s = 0.0f;
  {first}
  {second}
  total += {value} * in(u[j * k + i % k]);
}}
y[i] = out(total);""",
      sizes=mlp,
      draws=own,
      terms="k + n",
      family="mlp",
      tags=("mlp",),
    )

  return [
    *mlp_task(
      "mlp_gelu",
      "f32",
      "y = jax.nn.gelu(x @ w, approximate=False) @ u",
      f"({_GELU})",
    ),
    *mlp_task(
      "mlp_squared_relu",
      "f32",
      "y = jnp.square(jax.nn.relu(x @ w)) @ u",
      "(s > 0 ? s * s : 0.0f)",
    ),
    *mlp_task(
      "mlp_swiglu",
      "f32 bf16",
      "y = (jax.nn.silu(x @ w) * (x @ v)) @ u",
      "(s / (1.0f + expf(-s)) * t)",
      gated=True,
    ),
    *mlp_task(
      "mlp_geglu",
      "f32",
      "y = (jax.nn.gelu(x @ w, approximate=False) * (x @ v)) @ u",
      f"({_GELU} * t)",
      gated=True,
    ),
    *_family(
      3,
      "lora_linear",
      "f32 bf16",
      "x[m, k], w[k, n], p[k, rank], q[rank, n], a=0.5 -> y[m, n]",
      "y = x @ w + a * ((x @ p) @ q)",
      "m * n",
      _DOT
      + """
for (int j = 0; j < rank; ++j) {
  float t = 0.0f;
  for (int c = 0; c < k; ++c) t += in(x[i / n * k + c]) * in(p[c * rank + j]);
  s += a * t * in(q[j * n + i % n]);
}
y[i] = out(s);""",
      sizes={
        **_MKN,
        "rank": (1, 2, 4, 3, 16),
        "m": (1, 7, 33, 20, 512),
        "k": (3, 33, 65, 31, 1024),
        "n": (5, 12, 47, 18, 1024),
      },
      draws={"w": normal("k ** -0.5"), "p": normal("k ** -0.5")},
      terms="k + rank",
      tags=("adapter",),
    ),
    *_family(
      3,
      "newton_schulz",
      "f32",
      "x[n, n] -> y[n, n]",
      """
      g = x @ x.T
      y = 3.4445 * x + (-4.775 * g + 2.0315 * (g @ g)) @ x
      """,
      "n * n",
      """
      // A column of x at a time: g (g c), g c and c.
      extern __shared__ float unused[];
      int64_t r = i / n, col = i % n;
      float s = 3.4445f * x[i];
      for (int a = 0; a < n; ++a) {
        float g = 0.0f, gg = 0.0f;
        for (int c = 0; c < n; ++c) g += x[r * n + c] * x[a * n + c];
        for (int b = 0; b < n; ++b) {
          float p = 0.0f, q = 0.0f;
          for (int c = 0; c < n; ++c) {
            p += x[r * n + c] * x[b * n + c];
            q += x[b * n + c] * x[a * n + c];
          }
          gg += p * q;
        }
        s += (-4.775f * g + 2.0315f * gg) * x[a * n + col];
      }
      y[i] = s;
      """.replace("      extern __shared__ float unused[];\n", ""),
      sizes={"n": (3, 8, 20, 12, 64)},
      draws={"x": normal("0.5 * n ** -0.5")},
      terms="3 * n",
      family="optimisers",
      tags=("optimiser", "muon"),
    ),
  ]
