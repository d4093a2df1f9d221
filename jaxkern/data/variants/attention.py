"""Attention: warps for a query, or a block of queries over tiles of keys.

All keep a running maximum and sum, as the naive kernels do. With warps the
lanes share either a key's dimensions or 32 keys, and several warps may divide a
query's keys and merge at the end; with blocks, keys and values are read once
for all queries of the block.
"""

import re
from typing import NamedTuple

import numpy as np

from jaxkern.data.variants import parts
from jaxkern.data.variants.parts import Look, pick
from jaxkern.tasks.task import C_TYPES, Task


class Plan(NamedTuple):
  """One kind of attention, in terms of query i, its head and place `at`, key j.

  Attributes:
    count: of queries.
    keys: of a head.
    head, at: of query i.
    start, stop: the keys that it sees.
    score: what becomes of the scaled product s.
    before: statements.
    sink: a score without a value.
    key: where key j begins, in k.
    value: where its value begins.
    in_a_row: how many queries in a row share their keys; '' for none.
  """

  count: str = "batch * heads * n"
  keys: str = "n"
  head: str = "i / n"
  at: str = "i % n"
  start: str = "0"
  stop: str = "n"
  score: str = "s"
  before: str = ""
  sink: str = ""
  key: str = "k + (head * {keys} + j) * d"
  value: str = "v + (head * {keys} + j) * d"
  in_a_row: str = "n"


_CAUSAL = Plan(stop="at + 1")
_GROUPED = "i / n / heads * kv + i / n % heads / (heads / kv)"
_DECODE = Plan(
  count="batch * heads",
  head="i / heads * kv + i % heads / (heads / kv)",
  at="i / heads",
  stop="lengths[at]",
  in_a_row="",
)
_PAGED = "((table[at * most + j / page] * page + j % page) * kv + head) * d"
_PLANS = {
  "attention": Plan(),
  "causal_attention": _CAUSAL,
  "sliding_window_attention": Plan(
    start="(at < window ? 0 : at - window + 1)", stop="at + 1"
  ),
  "alibi_attention": _CAUSAL._replace(
    before="const float slope = exp2f(-8.0f * (head % heads + 1) / heads);",
    score="s - slope * (at - j)",
  ),
  "softcap_attention": _CAUSAL._replace(score="cap * tanhf(s / cap)"),
  "padded_attention": Plan(stop="lengths[head / heads]"),
  "biased_attention": Plan(score="s + bias[(head % heads * n + at) * n + j]"),
  "sink_attention": _CAUSAL._replace(sink="sink[head % heads]"),
  "block_causal_attention": Plan(
    stop="((at / block + 1) * block < n ? (at / block + 1) * block : n)"
  ),
  "grouped_query_attention": _CAUSAL._replace(head=_GROUPED),
  "multi_query_attention": Plan(head=_GROUPED),
  "cross_attention": Plan(keys="keys", stop="keys"),
  "decode_attention": _DECODE,
  "paged_decode_attention": _DECODE._replace(
    head="i % heads / (heads / kv)", key=f"k + {_PAGED}", value=f"v + {_PAGED}"
  ),
  "latent_decode_attention": Plan(
    count="batch * heads",
    head="i / heads",
    at="0",
    value="k + (head * {keys} + j) * d",
    in_a_row="heads",
  ),
}


def of_suite(operation: str) -> Plan | None:
  """The plan of an operation of the suite, if it is attention."""
  return _PLANS.get(operation)


def write(task: Task, plan: Plan, rng: np.random.Generator) -> str:
  """A kernel of a plan in a random way."""
  style = parts.look(rng, pick(rng, ("attention", "attend", "flash")))
  if plan.in_a_row and rng.random() < 0.5:
    queries = pick(rng, (32, 64, 128))
    return _blocks(task, plan, style, queries, pick(rng, (8, 16, 32)))
  warps = pick(rng, (1, 1, 2, 4, 8))
  queries = 1 if warps > 1 else pick(rng, (1, 2, 4, 8))
  way = pick(rng, ("dimensions", "keys"))
  return _warps(task, plan, style, warps, queries, way)


def _setup(task: Task, plan: Plan, index: str, whole: bool = True) -> list[str]:
  """Names that a plan's expressions use; start and stop alone, or all."""
  types = parts.dtypes(task)
  texts = [plan.start, plan.stop]
  if whole:
    texts += [plan.before, plan.score, plan.sink, plan.key, plan.value]
  lines = [
    f"const {index} {name} = {value};"
    for name, value in (("head", plan.head), ("at", plan.at))
    if re.search(rf"\b{name}\b", " ".join(texts))
  ]
  return [
    *lines,
    *([plan.before] if whole else []),
    f"const {index} start = {plan.start};",
    f"const {index} stop = {parts.elements(plan.stop, types)};",
  ]


def _begin(task: Task, plan: Plan) -> tuple[str, str]:
  """The maximum and the sum before any key."""
  sink = parts.elements(plan.sink, parts.dtypes(task))
  return (sink, "1.0f") if sink else ("-INFINITY", "0.0f")


def _score(task: Task, plan: Plan) -> list[str]:
  score = parts.elements(plan.score, parts.dtypes(task))
  return [] if score == "s" else [f"s = {score};"]


def _kernel(task, style: Look, body, threads: int) -> str:
  """With the dimensions' bound as a template's parameter, a multiple of 32."""
  return parts.kernel(task, style, body, threads, "int D")


def _launches(task, style: Look, grid: str, threads: int) -> list[str]:
  """For up to 32, 64 and 128 dimensions, as many as naive kernels bear."""
  call = f"<<<{grid}, {threads}, 0, stream>>>({parts.arguments(task)});"
  return [
    "if (d <= 32) {",
    f"{style.name}<32>{call}",
    "} else if (d <= 64) {",
    f"{style.name}<64>{call}",
    "} else {",
    f"{style.name}<128>{call}",
    "}",
  ]


def _warps(
  task: Task, plan: Plan, style: Look, warps: int, queries: int, way: str
) -> str:
  """`warps` per query, or `queries` per block with a warp each."""
  index, threads = style.index, 32 * max(warps, queries)
  kind = C_TYPES[parts.dtypes(task)["q"]]
  m, total = _begin(task, plan)
  if warps > 1:  # The sink counts once.
    m = m if m == "-INFINITY" else f"warp == 0 ? {m} : -INFINITY"
    total = total if total == "0.0f" else "warp == 0 ? 1.0f : 0.0f"
  first = "blockIdx.x" if queries == 1 else f"blockIdx.x * {queries} + warp"
  body = [
    "const int lane = threadIdx.x % 32;",
    *(["const int warp = threadIdx.x / 32;"] if threads > 32 else []),
    f"const {index} i = {first};",
    *([f"if (i >= {plan.count}) return;"] if queries > 1 else []),
    *_setup(task, plan, index),
    f"const {kind}* query = q + i * d;",
    f"float m = {m}, total = {total}, acc[D / 32] = {{}};",
    *(_by_keys if way == "keys" else _by_dimensions)(task, plan, style, warps),
    *(_merge(warps) if warps > 1 else []),
    *(["if (warp == 0) {"] if warps > 1 else []),
    "#pragma unroll",
    "for (int e = 0; e < D / 32; ++e) {",
    "const int c = e * 32 + lane;",
    f"if (c < d) y[i * d + c] = {_out(task, 'acc[e] / total')};",
    "}",
    *(["}"] if warps > 1 else []),
  ]
  helpers = "".join(_HELPERS[name] for name in ("sum", "max"))
  if way == "dimensions":
    helpers = _HELPERS["sum"]
  device = helpers + _kernel(task, style, body, threads)
  blocks = parts.quotient(style, f"({plan.count})", queries)
  launch = [f"int64_t blocks = {blocks if queries > 1 else plan.count};"]
  launch += _launches(task, style, "blocks", threads)
  note = f"{warps} warps per query." if warps > 1 else "A warp per query."
  return parts.unit(task, style, device, launch, note)


_HELPERS = {
  name: (
    f"__device__ __forceinline__ float warp_{name}(float v) {{\n"
    f"  for (int o = 16; o > 0; o /= 2) {update}\n  return v;\n}}\n\n"
  )
  for name, update in (
    ("sum", "v += __shfl_xor_sync(0xffffffff, v, o);"),
    ("max", "v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, o));"),
  )
}


def _out(task: Task, value: str) -> str:
  return parts.store(parts.dtypes(task)["y"], value)


def _in(task: Task, text: str) -> str:
  return parts.load(parts.dtypes(task)["q"], text)


def _by_dimensions(task, plan: Plan, style: Look, warps: int) -> list[str]:
  """Lanes share a key's dimensions."""
  kind = C_TYPES[parts.dtypes(task)["q"]]
  begin = "start" if warps == 1 else "start + warp"
  return [
    "float own[D / 32];",
    "#pragma unroll",
    "for (int e = 0; e < D / 32; ++e) {",
    "const int c = e * 32 + lane;",
    f"own[e] = c < d ? {_in(task, 'query[c]')} * rsqrtf((float)d) : 0.0f;",
    "}",
    f"for ({style.index} j = {begin}; j < stop; j += {warps}) {{",
    f"const {kind}* key = {plan.key.format(keys=plan.keys)};",
    f"const {kind}* value = {plan.value.format(keys=plan.keys)};",
    "float s = 0.0f;",
    "#pragma unroll",
    "for (int e = 0; e < D / 32; ++e) {",
    "const int c = e * 32 + lane;",
    f"if (c < d) s += own[e] * {_in(task, 'key[c]')};",
    "}",
    "s = warp_sum(s);",
    *_score(task, plan),
    "const float top = fmaxf(m, s);",
    "const float shrink = expf(m - top), p = expf(s - top);",
    "total = total * shrink + p;",
    "#pragma unroll",
    "for (int e = 0; e < D / 32; ++e) {",
    "const int c = e * 32 + lane;",
    f"if (c < d) acc[e] = acc[e] * shrink + p * {_in(task, 'value[c]')};",
    "}",
    "m = top;",
    "}",
  ]


def _by_keys(task, plan: Plan, style: Look, warps: int) -> list[str]:
  """A lane has a key of its own; values are added up together."""
  kind = C_TYPES[parts.dtypes(task)["q"]]
  begin = "start" if warps == 1 else "start + warp * 32"
  index = style.index
  return [
    f"for ({index} j0 = {begin}; j0 < stop; j0 += {32 * warps}) {{",
    f"const {index} mine = j0 + lane;",
    "float s = -INFINITY;",
    "if (mine < stop) {",
    f"const {index} j = mine;",
    f"const {kind}* key = {plan.key.format(keys=plan.keys)};",
    "s = 0.0f;",
    "for (int c = 0; c < d; ++c) {",
    f"s += {_in(task, 'query[c]')} * {_in(task, 'key[c]')};",
    "}",
    "s *= rsqrtf((float)d);",
    *_score(task, plan),
    "}",
    "const float top = fmaxf(m, warp_max(s));",
    "const float shrink = expf(m - top), p = expf(s - top);",
    "total = total * shrink + warp_sum(p);",
    "#pragma unroll",
    "for (int e = 0; e < D / 32; ++e) acc[e] *= shrink;",
    "for (int t = 0; t < 32 && j0 + t < stop; ++t) {",
    "const float share = __shfl_sync(0xffffffff, p, t);",
    f"const {index} j = j0 + t;",
    f"const {kind}* value = {plan.value.format(keys=plan.keys)};",
    "#pragma unroll",
    "for (int e = 0; e < D / 32; ++e) {",
    "const int c = e * 32 + lane;",
    f"if (c < d) acc[e] += share * {_in(task, 'value[c]')};",
    "}",
    "}",
    "m = top;",
    "}",
  ]


def _merge(warps: int) -> list[str]:
  """Warps that had keys of their own agree, in the first one's registers."""
  return [
    f"__shared__ float ms[{warps}], totals[{warps}], accs[{warps}][D];",
    "if (lane == 0) {",
    "ms[warp] = m;",
    "totals[warp] = total;",
    "}",
    "#pragma unroll",
    "for (int e = 0; e < D / 32; ++e) accs[warp][e * 32 + lane] = acc[e];",
    "__syncthreads();",
    "float top = ms[0];",
    f"for (int w = 1; w < {warps}; ++w) top = fmaxf(top, ms[w]);",
    "total = 0.0f;",
    "#pragma unroll",
    "for (int e = 0; e < D / 32; ++e) acc[e] = 0.0f;",
    f"for (int w = 0; w < {warps}; ++w) {{",
    "const float share = expf(ms[w] - top);",
    "total += share * totals[w];",
    "#pragma unroll",
    "for (int e = 0; e < D / 32; ++e) {",
    "acc[e] += share * accs[w][e * 32 + lane];",
    "}",
    "}",
  ]


def _blocks(
  task: Task, plan: Plan, style: Look, queries: int, keys: int
) -> str:
  """A thread per query; keys and values in tiles of shared memory."""
  row = plan.in_a_row
  m, total = _begin(task, plan)
  body = [
    f"__shared__ float ks[{keys}][D], vs[{keys}][D];",
    *_seen_by_block(task, plan, style.index, queries),
    *_setup(task, plan, style.index),
    "float own[D], acc[D] = {};",
    "#pragma unroll",
    "for (int c = 0; c < D; ++c) {",
    f"own[c] = c < d ? {_in(task, 'q[i * d + c]')} * rsqrtf((float)d) : 0.0f;",
    "}",
    f"float m = {m}, total = {total};",
    f"for ({style.index} j0 = from; j0 < until; j0 += {keys}) {{",
    *_tile(task, plan, style.index, queries, keys),
    "__syncthreads();",
    *_attend(task, plan, style.index, keys),
    "__syncthreads();",
    "}",
    "if (!live) return;",
    "#pragma unroll",
    "for (int c = 0; c < D; ++c) {",
    f"if (c < d) y[i * d + c] = {_out(task, 'acc[c] / total')};",
    "}",
  ]
  device = _kernel(task, style, body, queries)
  launch = [
    f"dim3 grid({parts.quotient(style, row, queries)}, {plan.count} / {row});",
    *_launches(task, style, "grid", queries),
  ]
  note = f"{queries} queries per block, {keys} keys at a time."
  return parts.unit(task, style, device, launch, note)


def _seen_by_block(task, plan: Plan, index: str, queries: int) -> list[str]:
  """The thread's query; the first and the last key of all of the block's."""
  row = plan.in_a_row
  return [
    f"const {index} group = blockIdx.y * ({index}){row};",
    f"const {index} place = blockIdx.x * {queries} + threadIdx.x;",
    f"const bool live = place < {row};",
    f"const {index} last = blockIdx.x * {queries} + {queries - 1};",
    f"{index} from, until;",
    "{",
    "// Of all keys that the block's queries see, the first and the last.",
    f"{index} i = group + blockIdx.x * {queries};",
    "{",
    *_setup(task, plan, index, whole=False),
    "from = start;",
    "until = stop;",
    "}",
    f"i = group + (last < {row} ? last : {row} - 1);",
    "{",
    *_setup(task, plan, index, whole=False),
    "if (start < from) from = start;",
    "if (stop > until) until = stop;",
    "}",
    "}",
    f"const {index} i = group + (live ? place : {row} - 1);",
  ]


def _tile(task, plan: Plan, index: str, queries: int, keys: int) -> list[str]:
  """Keys and values from j0 on into shared memory."""
  kind = C_TYPES[parts.dtypes(task)["q"]]
  return [
    f"for (int p = threadIdx.x; p < {keys} * D; p += {queries}) {{",
    f"const {index} j = j0 + p / D;",
    "const int c = p % D;",
    "const bool there = j < until && c < d;",
    f"const {kind}* key = {plan.key.format(keys=plan.keys)};",
    f"const {kind}* value = {plan.value.format(keys=plan.keys)};",
    f"ks[p / D][c] = there ? {_in(task, 'key[c]')} : 0.0f;",
    f"vs[p / D][c] = there ? {_in(task, 'value[c]')} : 0.0f;",
    "}",
  ]


def _attend(task, plan: Plan, index: str, keys: int) -> list[str]:
  """A thread's query meets the tile."""
  return [
    f"for (int t = 0; t < {keys}; ++t) {{",
    f"const {index} j = j0 + t;",
    "if (j < start || j >= stop) continue;",
    "float s = 0.0f;",
    "#pragma unroll",
    "for (int c = 0; c < D; ++c) s += own[c] * ks[t][c];",
    *_score(task, plan),
    "const float top = fmaxf(m, s);",
    "const float shrink = expf(m - top), p = expf(s - top);",
    "total = total * shrink + p;",
    "#pragma unroll",
    "for (int c = 0; c < D; ++c) acc[c] = acc[c] * shrink + p * vs[t][c];",
    "m = top;",
    "}",
  ]
