"""Attention of a few new tokens over a cache, as one kernel for NVIDIA GPUs.

Of the cache it reads what is filled, row by row, however long the cache is;
XLA reads all of it. Keys of a block of slots meet all queries that share them.

By Pallas' Triton backend, which runs on all of NVIDIA's 16-bit GPUs and can be
lowered without one. jax 0.11 calls it deprecated; its successor, Mosaic GPU,
needs a Hopper to be tried on.

Fixed letters: B rows, L tokens of each, S slots, H query heads, K key/value
heads, G = H / K, D head width, P parts into which the slots are split.
"""

import functools

import chex
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton

from jaxkern.models.attention import Cache

BLOCK = 64  # Slots that are looked at at once; S is a multiple.
_ROWS = 16  # The least that a product on tensor cores has.
_LOWEST = -1e30
# Programs that keep a large GPU busy; rows and heads that are fewer are split.
_PROGRAMS = 128


def fits(queries: chex.Array, kv_heads: int) -> bool:
  """Whether the kernel can do queries [B, L, H, D] for K heads."""
  _, length, heads, depth = queries.shape
  power = depth & (depth - 1) == 0 and 16 <= depth <= 256
  return power and length * heads // kv_heads <= _ROWS


def decode(
  queries: chex.Array,
  cache: Cache,
  visible: chex.Array,
  filled: chex.Array,
  *,
  interpret: bool = False,
) -> chex.Array:
  """What `attention.attend` does, where all tokens of a row see the same.

  Args:
    queries: [B, L, H, D], such that they fit.
    cache: K heads, S slots.
    visible: bool [B, 1, S].
    filled: int32 [B]; no slot from there on is visible. Rows that see nothing
      get zeros.
    interpret: run on any device, slowly.

  Returns:
    [B, L, H, D].
  """
  chex.assert_rank([queries, visible, filled], [4, 3, 1])
  rows, length, heads, depth = queries.shape
  kv_heads, slots = cache.values.shape[1:3]
  if slots % BLOCK:
    raise ValueError(
      f"cache: expected a multiple of {BLOCK} slots, got {slots}"
    )
  groups = length * heads // kv_heads
  grouped = queries.transpose(0, 2, 1, 3)
  grouped = grouped.reshape(rows, kv_heads, groups, depth)
  hidden = jnp.where(visible[:, 0], 0.0, _LOWEST)
  parts = _parts(rows * kv_heads, slots)
  several = parts > 1
  mixed, weight = pl.pallas_call(
    functools.partial(_kernel, groups=groups, scale=depth**-0.5),
    grid=(rows, kv_heads, parts),
    in_specs=[
      pl.BlockSpec((None, None, _ROWS, depth), lambda b, k, p: (b, k, 0, 0)),
      pl.BlockSpec(
        (None, None, depth, slots // parts), lambda b, k, p: (b, k, 0, p)
      ),
      pl.BlockSpec(
        (None, None, slots // parts, depth), lambda b, k, p: (b, k, p, 0)
      ),
      pl.BlockSpec((None, slots // parts), lambda b, k, p: (b, p)),
      pl.BlockSpec((None,), lambda b, k, p: (b,)),
    ],
    out_specs=[
      pl.BlockSpec(
        (None, None, None, _ROWS, depth), lambda b, k, p: (p, b, k, 0, 0)
      ),
      pl.BlockSpec((None, None, None, _ROWS), lambda b, k, p: (p, b, k, 0)),
    ],
    out_shape=[
      jax.ShapeDtypeStruct(
        (parts, *grouped.shape), jnp.float32 if several else queries.dtype
      ),
      jax.ShapeDtypeStruct((parts, *grouped.shape[:3]), jnp.float32),
    ],
    compiler_params=triton.CompilerParams(num_warps=4, num_stages=3),
    interpret=interpret,
    name="decode_attention",
  )(grouped, cache.keys, cache.values, hidden, filled)
  if several:
    share = jax.nn.softmax(weight, axis=0)[..., None]
    mixed = jnp.sum(share * mixed, axis=0).astype(queries.dtype)
  mixed = mixed.reshape(rows, heads, length, depth)
  return mixed.transpose(0, 2, 1, 3)


def _parts(programs, slots):
  """Into how many parts the slots are split, so that all of a GPU works."""
  parts = 1
  while programs * parts < _PROGRAMS and slots // BLOCK % (2 * parts) == 0:
    parts *= 2
  return parts


def _kernel(
  queries_ref, keys_ref, values_ref, hidden_ref, filled_ref,
  mixed_ref, weight_ref, *, groups, scale,
):  # fmt: skip
  """One row, one key head, one part: a softmax that is corrected as it goes.

  Writes the mean of values, and the logarithm of what its softmax sums to.
  """
  depth, slots = keys_ref.shape
  exists = jnp.arange(_ROWS) < groups
  queries = triton.load(queries_ref, mask=exists[:, None], other=0.0)

  def block(i, carry):
    """Adds the next block of slots."""
    mixed, largest, weight = carry
    at = pl.ds(i * BLOCK, BLOCK)
    scores = triton.dot(queries, keys_ref[:, at]) * scale
    scores += hidden_ref[at][None, :]
    higher = jnp.maximum(largest, jnp.max(scores, axis=1))
    kept = jnp.exp(largest - higher)
    # Where all of a block is hidden, its scores are not far from the largest.
    shares = jnp.exp(scores - higher[:, None])
    shares = jnp.where(scores > _LOWEST / 2, shares, 0.0)
    values = values_ref[at, :]
    mixed *= kept[:, None]
    mixed += triton.dot(shares.astype(values.dtype), values)
    return mixed, higher, kept * weight + jnp.sum(shares, axis=1)

  filled = jnp.clip(filled_ref[...] - pl.program_id(2) * slots, 0, slots)
  mixed, largest, weight = jax.lax.fori_loop(
    0,
    (filled + BLOCK - 1) // BLOCK,
    block,
    (
      jnp.zeros((_ROWS, depth), jnp.float32),
      jnp.full((_ROWS,), _LOWEST, jnp.float32),
      jnp.zeros((_ROWS,), jnp.float32),
    ),
  )
  some = jnp.where(weight > 0, weight, 1.0)
  mixed = (mixed / some[:, None]).astype(mixed_ref.dtype)
  weight = jnp.where(weight > 0, largest + jnp.log(some), _LOWEST)
  triton.store(mixed_ref, mixed, mask=exists[:, None])
  triton.store(weight_ref, weight, mask=exists)
