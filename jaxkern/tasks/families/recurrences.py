"""Scans: running sums, linear recurrences, state spaces, linear attention."""

from jaxkern.tasks.draws import normal, uniform
from jaxkern.tasks.families import ROWS, variants
from jaxkern.tasks.task import Task

_WIDE = {**ROWS, "cols": (3, 33, 130, 67, 4096)}
_LOOP = "for (int c = 0; c < cols; ++c)"
_SCAN = {
  "batch": (1, 2, 2, 3, 8),
  "n": (2, 9, 33, 20, 1024),
  "d": (3, 8, 16, 10, 1024),
}


def tasks() -> list[Task]:
  """All of the file."""
  return [
    *_sums(),
    *_segments(),
    *_recurrences(),
    *_state_spaces(),
    *_linear_attention(),
    *_gated(),
  ]


def _rows(name, dtypes, reference, body, **more):
  """A thread per row."""
  more = {"sizes": _WIDE, "terms": "cols", "kinds": (), "level": 1, **more}
  return variants(
    "scan",
    more.pop("level"),
    name,
    dtypes,
    more.pop("signature", "x[rows, cols] -> y[rows, cols]"),
    reference,
    "rows",
    body,
    tags=("scan",),
    **more,
  )


def _sums() -> list[Task]:
  return [
    *_rows(
      "cumulative_sum",
      "f32 i32",
      "y = jnp.cumsum(x, axis=-1, dtype=x.dtype)",
      f"T s = 0;\n{_LOOP} y[i * cols + c] = s += x[i * cols + c];",
    ),
    *_rows(
      "exclusive_sum",
      "i32",
      "y = jnp.cumsum(x, axis=-1, dtype=x.dtype) - x",
      f"""
      int s = 0;
      {_LOOP} {{
        y[i * cols + c] = s;
        s += x[i * cols + c];
      }}
      """,
    ),
    *_rows(
      "reverse_cumulative_sum",
      "f32",
      "y = lax.cumsum(x, axis=1, reverse=True)",
      "float s = 0.0f;\n"
      "for (int64_t c = cols; c-- > 0;) y[i * cols + c] = s += x[i * cols + c];",
    ),
    *_rows(
      "cumulative_max",
      "f32",
      "y = lax.cummax(x, axis=1)",
      "float m = -INFINITY;\n"
      f"{_LOOP} y[i * cols + c] = m = fmaxf(m, x[i * cols + c]);",
    ),
  ]


def _segments() -> list[Task]:
  return [
    *_rows(
      "segmented_sum_scan",
      "f32",
      """
      def step(s, at):
        v, start = at
        s = jnp.where(start == 1, v, s + v)
        return s, s
      y = lax.scan(step, jnp.zeros(rows, x.dtype), (x.T, flag.T))[1].T
      """,
      f"""
      float s = 0.0f;
      {_LOOP} {{
        s = flag[i * cols + c] ? x[i * cols + c] : s + x[i * cols + c];
        y[i * cols + c] = s;
      }}
      """,
      signature="x[rows, cols], flag:u8[rows, cols] -> y[rows, cols]",
      draws={"flag": lambda rng, shape, _: rng.random(shape) < 0.1},
      flops="rows * cols",
      level=2,
    ),
    *_rows(
      "generalised_advantages",
      "f32",
      """
      def step(a, at):
        r, v, following = at
        a = r + gamma * following - v + gamma * lam * a
        return a, a
      following = jnp.concatenate([v[:, 1:], jnp.zeros((rows, 1), v.dtype)], 1)
      at = (r.T, v.T, following.T)
      y = lax.scan(step, jnp.zeros(rows, r.dtype), at, reverse=True)[1].T
      """,
      """
      float a = 0.0f, following = 0.0f;
      for (int64_t c = cols; c-- > 0;) {
        int64_t at = i * cols + c;
        a = r[at] + gamma * following - v[at] + gamma * lam * a;
        following = v[at];
        y[at] = a;
      }
      """,
      signature="r[rows, cols], v[rows, cols], gamma=0.99, lam=0.95"
      " -> y[rows, cols]",
      flops="5 * rows * cols",
      terms="20",
      level=2,
    ),
  ]


def _recurrence(name, dtypes, *text, **more):
  more = {"sizes": _SCAN, "terms": "20", "kinds": (), "level": 3, **more}
  return variants(
    "recurrence",
    more.pop("level"),
    name,
    dtypes,
    *text,
    tags=("scan", *more.pop("tags", ())),
    **more,
  )


def _recurrences() -> list[Task]:
  linear = """
h, y = lax.scan(
  lambda h, at: (at[0] * h + at[1],) * 2, jnp.zeros((batch, d), x.dtype),
  (jnp.moveaxis({a}, 1, 0), jnp.moveaxis({x}, 1, 0)),
)
y = jnp.moveaxis(y, 0, 1)
"""
  each = """
float h = 0.0f;
for (int64_t t = 0; t < n; ++t) {{
  int64_t at = (i / d * n + t) * d + i % d;
  {step}
  y[at] = out(h);
}}"""
  return [
    *_recurrence(
      "linear_recurrence",
      "f32 bf16",
      "a[batch, n, d], x[batch, n, d] -> y[batch, n, d]",
      linear.format(a="a", x="x"),
      "batch * d",
      each.format(step="h = in(a[at]) * h + in(x[at]);"),
      draws={"a": uniform(0.5, 0.95)},
      flops="2 * batch * n * d",
      level=2,
    ),
    *_recurrence(
      "gated_recurrence",
      "f32",
      "r[batch, n, d], x[batch, n, d], decay[d] -> y[batch, n, d]",
      "a = jnp.exp(-8 * jax.nn.softplus(decay) * jax.nn.sigmoid(r))\n"
      "u = jnp.sqrt(1 - a * a) * x\n" + linear.format(a="a", x="u"),
      "batch * d",
      each.format(
        step="""float l = log1pf(expf(decay[i % d]));
  float g = -8.0f * l / (1.0f + expf(-r[at]));
  h = expf(g) * h + sqrtf(-expm1f(2.0f * g)) * x[at];"""
      ),
      draws={"decay": uniform(-4, -2)},
      flops="12 * batch * n * d",
    ),
    *_recurrence(
      "exponential_average",
      "f32",
      "x[batch, n, d], a=0.9 -> y[batch, n, d]",
      """
      step = lambda h, v: (a * h + (1 - a) * v,) * 2
      y = lax.scan(step, jnp.zeros((batch, d), x.dtype), jnp.moveaxis(x, 1, 0))
      y = jnp.moveaxis(y[1], 0, 1)
      """,
      "batch * d",
      each.format(step="h = a * h + (1.0f - a) * x[at];"),
      flops="3 * batch * n * d",
      level=1,
    ),
  ]


def _state_spaces() -> list[Task]:
  return [
    *_recurrence(
      "selective_scan",
      "f32",
      "x[batch, n, d], dt[batch, n, d], a[d, states], b[batch, n, states],"
      " c[batch, n, states], skip[d] -> y[batch, n, d]",
      """
      def step(h, at):
        x, dt, b, c = at
        h = jnp.exp(-dt[..., None] * a) * h + (dt * x)[..., None] * b[:, None]
        return h, jnp.einsum("bds,bs->bd", h, c) + skip * x
      at = [jnp.moveaxis(v, 1, 0) for v in (x, dt, b, c)]
      h = jnp.zeros((batch, d, states), x.dtype)
      y = jnp.moveaxis(lax.scan(step, h, at)[1], 0, 1)
      """,
      "batch * d",
      """
      float h[16];
      for (int s = 0; s < states; ++s) h[s] = 0.0f;
      for (int64_t t = 0; t < n; ++t) {
        int64_t at = (i / d * n + t) * d + i % d, row = (i / d * n + t) * states;
        float v = skip[i % d] * x[at];
        for (int s = 0; s < states; ++s) {
          h[s] = expf(-dt[at] * a[i % d * states + s]) * h[s]
              + dt[at] * x[at] * b[row + s];
          v += h[s] * c[row + s];
        }
        y[at] = v;
      }
      """,
      sizes={**_SCAN, "states": (2, 4, 8, 4, 16)},
      draws={"dt": uniform(0.1, 0.6), "a": uniform(0.5, 2)},
      flops="7 * batch * n * d * states",
      terms="20 + states",
      tags=("state space",),
    ),
  ]


_STATES = {
  "heads": (1, 2, 3, 2, 64),
  "n": (2, 9, 33, 20, 512),
  "d": (3, 8, 16, 10, 64),
}
_SIGNATURE = "q[heads, n, d], k[heads, n, d], v[heads, n, d]"
_STEP = """
      def step(s, at):
        q, k, v{more_at} = at
        {update}
        return s, jnp.einsum("hd,hde->he", q, s)
      at = [jnp.moveaxis(t, 1, 0) for t in (q, k, v{more_at})]
      y = lax.scan(step, jnp.zeros((heads, d, d), q.dtype), at)[1]
      y = jnp.moveaxis(y, 0, 1)
      """
_BODY = """
float s[64];
int64_t head = i / d, e = i % d;
for (int c = 0; c < d; ++c) s[c] = 0.0f;
for (int64_t t = 0; t < n; ++t) {{
  int64_t row = (head * n + t) * d;
  float o = 0.0f;
  {update}
  for (int c = 0; c < d; ++c) o += in(q[row + c]) * s[c];
  y[row + e] = out(o);
}}"""
_OUTER = "k[:, :, None] * v[:, None]"
_SCALED = {"k": normal("d ** -0.5"), "q": normal("d ** -0.5")}
_ADD = "for (int c = 0; c < d; ++c) s[c] = {decay}s[c] + in(k[row + c]) * in(v[row + e]);"


def _attention(name, dtypes, extra, update, cuda, more_at="", **more):
  """A thread per head and value's element."""
  return _recurrence(
    name,
    dtypes,
    f"{_SIGNATURE}{extra} -> y[heads, n, d]",
    _STEP.format(update=update, more_at=more_at),
    "heads * d",
    _BODY.format(update=cuda),
    sizes=_STATES,
    flops="4 * heads * n * d * d",
    terms="d + n",
    tags=("attention",),
    **more,
  )


def _linear_attention() -> list[Task]:
  return [
    *_attention(
      "linear_attention",
      "f32 bf16",
      "",
      f"s = s + {_OUTER}",
      _ADD.format(decay=""),
      draws=_SCALED,
    ),
    *_attention(
      "retention",
      "f32",
      ", a=0.9",
      f"s = a * s + {_OUTER}",
      _ADD.format(decay="a * "),
      draws=_SCALED,
    ),
  ]


def _gated() -> list[Task]:
  return [
    *_attention(
      "gated_linear_attention",
      "f32",
      ", g[heads, n, d]",
      f"s = g[:, :, None] * s + {_OUTER}",
      _ADD.format(decay="g[row + c] * "),
      more_at=", g",
      draws={**_SCALED, "g": uniform(0.7, 0.99)},
    ),
    *_attention(
      "delta_rule",
      "f32",
      ", beta[heads, n]",
      "v = v - jnp.einsum('hd,hde->he', k, s)\n"
      f"        s = s + beta[:, None, None] * {_OUTER}",
      """float p = v[row + e], rate = beta[head * n + t];
  for (int c = 0; c < d; ++c) p -= k[row + c] * s[c];
  for (int c = 0; c < d; ++c) s[c] += rate * k[row + c] * p;""",
      more_at=", beta",
      draws={**_SCALED, "beta": uniform(0.1, 0.9)},
    ),
  ]
