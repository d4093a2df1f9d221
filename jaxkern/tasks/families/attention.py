"""Attention in its variants."""

from jaxkern.tasks.draws import integers
from jaxkern.tasks.families import variants
from jaxkern.tasks.task import Task

_SELF = {
  "batch": (1, 1, 2, 2, 2),
  "heads": (1, 2, 2, 3, 16),
  "n": (2, 17, 33, 20, 1024),
  "d": (8, 16, 16, 8, 64),
}
_SCORES = 's = jnp.einsum("bhqd,bhkd->bhqk", q, k) / jnp.sqrt(d)'
_VALUES = 'y = jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(s, axis=-1), v)'
_SIGNATURE = (
  "q[batch, heads, n, d], k[batch, heads, n, d], v[batch, heads, n, d]"
)
_OUT = " -> y[batch, heads, n, d]"
_CAUSAL = "s = jnp.where(jnp.tri(n, dtype=bool), s, -jnp.inf)"


def tasks() -> list[Task]:
  """All of the file."""
  return [
    *_self_attention(),
    *_other_scores(),
    *_grouped(),
    *_decoding(),
    *_caches(),
  ]


def one_query(
  keys: str,
  *,
  query: str = "q + i * d",
  head: str = "i / n",
  position: str = "i % n",
  start: str = "0",
  stop: str = "n",
  score: str = "s",
  before: str = "",
  sink: str = "",
) -> str:
  """Kernel text: a thread per query, with a running maximum and sum.

  `keys` is how many keys a head has; `score` is what becomes of the scaled
  product s of the query at `at` and key j.
  """
  start_m, start_sum = (sink, "1.0f") if sink else ("-INFINITY", "0.0f")
  return f"""
const T* query = {query};
int64_t head = {head}, at = {position};
{before}
float m = {start_m}, sum = {start_sum}, acc[128];
for (int c = 0; c < d; ++c) acc[c] = 0.0f;
for (int64_t j = {start}; j < {stop}; ++j) {{
  const T* key = k + (head * {keys} + j) * d;
  const T* value = v + (head * {keys} + j) * d;
  float s = 0.0f;
  for (int c = 0; c < d; ++c) s += in(query[c]) * in(key[c]);
  s /= sqrtf((float)d);
  s = {score};
  float top = fmaxf(m, s), shrink = expf(m - top), p = expf(s - top);
  for (int c = 0; c < d; ++c) acc[c] = acc[c] * shrink + p * in(value[c]);
  sum = sum * shrink + p;
  m = top;
}}
for (int c = 0; c < d; ++c) y[i * d + c] = out(acc[c] / sum);"""


def _family(name, dtypes, *text, tags=(), **more):
  more = {"sizes": _SELF, "terms": "d + n", "kinds": (), **more}
  return variants(
    more.pop("family", "attention"),
    more.pop("level", 3),
    name,
    dtypes,
    *text,
    tags=("attention", *tags),
    **more,
  )


def _n_to_n(name, dtypes, middle, kernel, extra="", tags=(), **more):
  """Of n queries to n keys."""
  return _family(
    name,
    dtypes,
    _SIGNATURE + extra + _OUT,
    "\n".join(filter(None, (_SCORES, middle, _VALUES))),
    "batch * heads * n",
    kernel,
    tags=tags,
    **more,
  )


def _self_attention() -> list[Task]:
  return [
    *_n_to_n("attention", "f32 f16", "", one_query("n")),
    *_n_to_n(
      "causal_attention",
      "f32 bf16",
      _CAUSAL,
      one_query("n", stop="at + 1"),
      tags=("causal",),
    ),
    *_n_to_n(
      "sliding_window_attention",
      "f32 bf16",
      """
p = jnp.arange(n)
d_p = p[:, None] - p[None]
s = jnp.where((d_p >= 0) & (d_p < window), s, -jnp.inf)""",
      one_query("n", start="at < window ? 0 : at - window + 1", stop="at + 1"),
      sizes={**_SELF, "window": (1, 5, 9, 6, 256)},
      tags=("causal", "local"),
    ),
    *_n_to_n(
      "alibi_attention",
      "f32",
      f"""
p = jnp.arange(n)
slopes = 2.0 ** (-8.0 * (jnp.arange(heads) + 1) / heads)
s = s - slopes[:, None, None] * (p[:, None] - p[None])
{_CAUSAL}""",
      one_query(
        "n",
        stop="at + 1",
        before="float slope = exp2f(-8.0f * (head % heads + 1) / heads);",
        score="s - slope * (at - j)",
      ),
      tags=("causal", "position"),
    ),
  ]


def _other_scores() -> list[Task]:
  return [
    *_n_to_n(
      "softcap_attention",
      "f32 bf16",
      f"s = cap * jnp.tanh(s / cap)\n{_CAUSAL}",
      one_query("n", stop="at + 1", score="cap * tanhf(s / cap)"),
      extra=", cap=2",
      tags=("causal",),
    ),
    *_n_to_n(
      "padded_attention",
      "f32",
      """
s = jnp.where((jnp.arange(n) < lengths[:, None])[:, None, None], s, -jnp.inf)""",
      one_query("n", stop="lengths[head / heads]"),
      extra=", lengths:i32[batch]",
      draws={"lengths": integers(1, "n + 1")},
      sizes={**_SELF, "batch": (2, 2, 3, 2, 4)},
      tags=("ragged",),
    ),
    *_n_to_n(
      "biased_attention",
      "f32",
      "s = s + bias",
      one_query("n", score="s + in(bias[(head % heads * n + at) * n + j])"),
      extra=", bias[heads, n, n]",
      tags=("position",),
    ),
    *_family(
      "sink_attention",
      "f32 bf16",
      _SIGNATURE + ", sink[heads]" + _OUT,
      f"""
{_SCORES}
{_CAUSAL}
z = jnp.broadcast_to(sink[:, None, None], (batch, heads, n, 1))
p = jax.nn.softmax(jnp.concatenate([z, s], axis=-1), axis=-1)[..., 1:]
y = jnp.einsum("bhqk,bhkd->bhqd", p, v)""",
      "batch * heads * n",
      one_query("n", stop="at + 1", sink="in(sink[head % heads])"),
      tags=("causal",),
    ),
    *_family(
      "block_causal_attention",
      "f32",
      _SIGNATURE + _OUT,
      f"""
{_SCORES}
b = jnp.arange(n) // block
s = jnp.where(b[:, None] >= b[None], s, -jnp.inf)
{_VALUES}""",
      "batch * heads * n",
      one_query("n", stop="n && j < (at / block + 1) * block"),
      sizes={**_SELF, "block": (1, 4, 8, 4, 32)},
      tags=("diffusion",),
    ),
  ]


def _grouped() -> list[Task]:
  sizes = {
    "batch": (1, 1, 2, 2, 2),
    "heads": (2, 4, 4, 6, 16),
    "n": (2, 17, 30, 20, 1024),
    "d": (8, 16, 16, 8, 64),
    "kv": (1, 2, 2, 3, 4),
  }
  signature = "q[batch, heads, n, d], k[batch, kv, n, d], v[batch, kv, n, d]"
  repeat = """
k, v = (jnp.repeat(t, heads // kv, axis=1) for t in (k, v))
"""
  shared = "i / n / heads * kv + i / n % heads / (heads / kv)"
  return [
    *_family(
      "grouped_query_attention",
      "f32 bf16",
      signature + _OUT,
      f"{repeat}{_SCORES}\n{_CAUSAL}\n{_VALUES}",
      "batch * heads * n",
      one_query("n", head=shared, stop="at + 1"),
      sizes=sizes,
      tags=("causal", "grouped"),
    ),
    *_family(
      "multi_query_attention",
      "f16",
      signature + _OUT,
      f"{repeat}{_SCORES}\n{_VALUES}",
      "batch * heads * n",
      one_query("n", head=shared),
      sizes={**sizes, "kv": (1, 1, 1, 1, 1)},
      tags=("grouped",),
    ),
    *_family(
      "cross_attention",
      "f32",
      "q[batch, heads, n, d], k[batch, heads, keys, d], v[batch, heads, keys, d]"
      + _OUT,
      f"{_SCORES}\n{_VALUES}",
      "batch * heads * n",
      one_query("keys", stop="keys"),
      sizes={**_SELF, "keys": (3, 20, 29, 25, 512)},
      terms="d + keys",
    ),
  ]


_CACHED = {
  "batch": (1, 2, 3, 2, 64),
  "heads": (2, 4, 4, 6, 16),
  "n": (3, 20, 37, 25, 2048),
  "d": (8, 16, 16, 8, 64),
  "kv": (1, 2, 2, 3, 4),
}
_SEQUENCE = "i / heads"


def _decoding() -> list[Task]:
  shared = "i / heads * kv + i % heads / (heads / kv)"
  grouped = """
k, v = (jnp.repeat(t, heads // kv, axis=1) for t in (k, v))
s = jnp.einsum("bhd,bhkd->bhk", q, k) / jnp.sqrt(d)
s = jnp.where((jnp.arange(n) < lengths[:, None])[:, None], s, -jnp.inf)
y = jnp.einsum("bhk,bhkd->bhd", jax.nn.softmax(s, axis=-1), v)"""
  pages = {
    **{s: v for s, v in _CACHED.items() if s not in ("n",)},
    "pages": (3, 8, 12, 9, 2048),
    "page": (2, 4, 4, 4, 64),
    "most": (1, 2, 3, 2, 16),
  }
  paged = one_query(
    "page",
    head="i % heads / (heads / kv)",
    position=_SEQUENCE,
    stop="lengths[at]",
  )
  paged = paged.replace(
    "(head * page + j) * d",
    "((table[at * most + j / page] * page + j % page) * kv + head) * d",
  )
  return [
    *_family(
      "decode_attention",
      "f32 bf16",
      "q[batch, heads, d], k[batch, kv, n, d], v[batch, kv, n, d],"
      " lengths:i32[batch] -> y[batch, heads, d]",
      grouped,
      "batch * heads",
      one_query("n", head=shared, position=_SEQUENCE, stop="lengths[at]"),
      sizes=_CACHED,
      draws={"lengths": integers(1, "n + 1")},
      tags=("decode", "cache", "grouped"),
    ),
    *_family(
      "paged_decode_attention",
      "f32 bf16",
      "q[batch, heads, d], k[pages, page, kv, d], v[pages, page, kv, d],"
      " table:i32[batch, most], lengths:i32[batch] -> y[batch, heads, d]",
      """
k, v = (jnp.reshape(t[table], (batch, most * page, kv, d)) for t in (k, v))
k, v = (jnp.repeat(t, heads // kv, axis=2) for t in (k, v))
s = jnp.einsum("bhd,bkhd->bhk", q, k) / jnp.sqrt(d)
p = jnp.arange(most * page) < lengths[:, None]
s = jnp.where(p[:, None], s, -jnp.inf)
y = jnp.einsum("bhk,bkhd->bhd", jax.nn.softmax(s, axis=-1), v)""",
      "batch * heads",
      paged,
      sizes=pages,
      draws={
        "lengths": integers(1, "most * page + 1"),
        "table": integers(0, "pages"),
      },
      terms="d + most * page",
      tags=("decode", "cache", "paged"),
    ),
  ]


def _caches() -> list[Task]:
  return [
    *_family(
      "latent_decode_attention",
      "f32",
      "q[batch, heads, d], k[batch, n, d] -> y[batch, heads, d]",
      """
s = jnp.einsum("bhd,bkd->bhk", q, k) / jnp.sqrt(d)
y = jnp.einsum("bhk,bkd->bhd", jax.nn.softmax(s, axis=-1), k)""",
      "batch * heads",
      one_query("n", head=_SEQUENCE, position="0").replace("v + (", "k + ("),
      sizes={s: v for s, v in _CACHED.items() if s != "kv"},
      tags=("decode", "cache"),
    ),
    *_family(
      "append_to_cache",
      "bf16",
      "cache[batch, n, d], k[batch, d], lengths:i32[batch] -> y[batch, n, d]",
      "y = cache.at[jnp.arange(batch), lengths].set(k)",
      "batch * n * d",
      """
      int64_t b = i / (n * d);
      y[i] = i / d % n == lengths[b] ? k[b * d + i % d] : cache[i];
      """,
      sizes={s: _CACHED[s] for s in ("batch", "n", "d")},
      draws={"lengths": integers(0, "n")},
      level=1,
      terms="1",
      tags=("cache",),
    ),
  ]
