"""MLPs and their gates, adapters, and Newton and Schulz's iteration."""

from jaxkern.tasks.draws import normal
from jaxkern.tasks.families import variants
from jaxkern.tasks.families.matrix import DOT, GELU, MKN, product
from jaxkern.tasks.task import Task


def tasks() -> list[Task]:
  """All of the file."""
  return [*_gates(), *_mlps(), *_adapters()]


def _gates() -> list[Task]:
  return [
    *variants(
      "mlp",
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
      kinds=(),
      tags=("gate",),
    ),
    *variants(
      "mlp",
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
      kinds=(),
      tags=("gate", "backward"),
    ),
  ]


_SIZES = {
  "m": (2, 5, 9, 7, 256),
  "k": (4, 17, 33, 20, 512),
  "n": (8, 20, 50, 33, 1024),
}
_DRAWS = {
  "w": normal("k ** -0.5"),
  "v": normal("k ** -0.5"),
  "u": normal("n ** -0.5"),
}
_UP = "for (int c = 0; c < k; ++c) s += in(x[r * k + c]) * in(w[c * n + j]);"


def _mlp(name, dtypes, reference, value, gated=False):
  """down(value(up)): each thread does the whole row."""
  extra = second = ""
  if gated:
    extra = ", v[k, n]"
    second = "float t = 0.0f;\n  " + _UP.replace("s +=", "t +=").replace(
      "w[c", "v[c"
    )
  own = {name: d for name, d in _DRAWS.items() if gated or name != "v"}
  return product(
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
  {_UP}
  {second}
  total += {value} * in(u[j * k + i % k]);
}}
y[i] = out(total);""",
    sizes=_SIZES,
    draws=own,
    terms="k + n",
    family="mlp",
    tags=("mlp",),
  )


def _mlps() -> list[Task]:
  return [
    *_mlp(
      "mlp_gelu",
      "f32",
      "y = jax.nn.gelu(x @ w, approximate=False) @ u",
      f"({GELU})",
    ),
    *_mlp(
      "mlp_squared_relu",
      "f32",
      "y = jnp.square(jax.nn.relu(x @ w)) @ u",
      "(s > 0 ? s * s : 0.0f)",
    ),
    *_mlp(
      "mlp_swiglu",
      "f32 bf16",
      "y = (jax.nn.silu(x @ w) * (x @ v)) @ u",
      "(s / (1.0f + expf(-s)) * t)",
      gated=True,
    ),
    *_mlp(
      "mlp_geglu",
      "f32",
      "y = (jax.nn.gelu(x @ w, approximate=False) * (x @ v)) @ u",
      f"({GELU} * t)",
      gated=True,
    ),
  ]


def _adapters() -> list[Task]:
  return [
    *product(
      3,
      "lora_linear",
      "f32 bf16",
      "x[m, k], w[k, n], p[k, rank], q[rank, n], a=0.5 -> y[m, n]",
      "y = x @ w + a * ((x @ p) @ q)",
      "m * n",
      DOT
      + """
for (int j = 0; j < rank; ++j) {
  float t = 0.0f;
  for (int c = 0; c < k; ++c) t += in(x[i / n * k + c]) * in(p[c * rank + j]);
  s += a * t * in(q[j * n + i % n]);
}
y[i] = out(s);""",
      sizes={
        **MKN,
        "rank": (1, 2, 4, 3, 16),
        "m": (1, 7, 33, 20, 512),
        "k": (3, 33, 65, 31, 1024),
        "n": (5, 12, 47, 18, 1024),
      },
      draws={"w": normal("k ** -0.5"), "p": normal("k ** -0.5")},
      terms="k + rank",
      tags=("adapter",),
    ),
    *product(
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
