"""Grouped-query attention, over a cache or within a sequence.

Fixed letters: B batch, L tokens of this call, S slots attended to, H query
heads, K key/value heads, G = H / K, D head width.
"""

from typing import Any, Literal, NamedTuple

import chex
import jax
import jax.numpy as jnp

_HIDDEN = -1e30  # Finite: a row that sees nothing gets a mean, not NaN.

# What attention is done by: "fused" is for NVIDIA GPUs and 16 bits, where no
# scores are in memory: cuDNN for what is causal, a kernel of ours for a few
# tokens over a cache. "auto" is cuDNN where it can be, "xla" elsewhere.
Kind = Literal["auto", "xla", "fused"]


class Cache(NamedTuple):
  """Keys and values of one layer.

  Each is laid out as its product in `attend` reads it: a decoding step on a CPU
  spends twice as long on keys stored like values.

  Attributes:
    keys: [B, K, D, S].
    values: [B, K, S, D].
  """

  keys: chex.Array
  values: chex.Array


def attend(
  queries: chex.Array, cache: Cache, visible: chex.Array
) -> chex.Array:
  """Grouped-query attention; softmax in float32.

  Args:
    queries: [B, L, H, D]; query head h reads key head h // G.
    cache: K heads, S slots.
    visible: bool [B, L, S], or [B, 1, S] if all tokens see the same.

  Returns:
    [B, L, H, D].
  """
  batch, length, heads, depth = queries.shape
  slots = cache.keys.shape[-1]
  # Queries that share a key head become rows of one matrix, [B, K, G L, D].
  kv_heads = cache.keys.shape[1]
  grouped = queries.transpose(0, 2, 1, 3).reshape(batch, kv_heads, -1, depth)
  scores = jnp.einsum(
    "bkqd,bkds->bkqs",
    grouped,
    cache.keys,
    preferred_element_type=jnp.float32,
  ).reshape(batch, heads, length, slots)
  scores = jnp.where(visible[:, None], scores * depth**-0.5, _HIDDEN)
  weights = jax.nn.softmax(scores, axis=-1).astype(queries.dtype)
  weights = weights.reshape(batch, kv_heads, -1, slots)
  mixed = jnp.einsum("bkqs,bksd->bkqd", weights, cache.values)
  return mixed.reshape(batch, heads, length, depth).transpose(0, 2, 1, 3)


def causal(
  queries: chex.Array, keys: chex.Array, values: chex.Array, kind: Kind
) -> chex.Array:
  """Every token attends to itself and those before it.

  Args:
    queries: [B, L, H, D]; query head h reads key head h // G.
    keys, values: [B, L, K, D].
    kind: see `Kind`.

  Returns:
    [B, L, H, D].
  """
  if kind == "fused" or (
    kind == "auto"
    and jax.default_backend() == "gpu"
    and suits_cudnn(queries.dtype, queries.shape[-1])
  ):
    return jax.nn.dot_product_attention(
      queries, keys, values, is_causal=True, implementation="cudnn"
    )
  length = queries.shape[1]
  before = jnp.tril(jnp.ones((1, length, length), bool))
  return attend(queries, stored(keys, values), before)


def suits_cudnn(dtype: Any, depth: int) -> bool:
  """Whether cuDNN has attention for this dtype and D."""
  return jnp.dtype(dtype).itemsize == 2 and depth % 8 == 0 and depth <= 128


def stored(keys: chex.Array, values: chex.Array) -> Cache:
  """Keys and values [B, L, K, D] as a cache of L slots."""
  return Cache(keys.transpose(0, 2, 3, 1), values.transpose(0, 2, 1, 3))


def write(cache: Cache, new: Cache, slot: chex.Array | int) -> Cache:
  """The cache with `new` at slot, slot + 1, ..."""
  update = jax.lax.dynamic_update_slice_in_dim
  return Cache(
    update(cache.keys, new.keys, slot, axis=3),
    update(cache.values, new.values, slot, axis=2),
  )


def with_room(caches: tuple[Cache, ...], slots: int) -> tuple[Cache, ...]:
  """The caches with `slots` empty slots added at the end."""
  none = (0, 0)
  return tuple(
    Cache(
      jnp.pad(cache.keys, (none, none, none, (0, slots))),
      jnp.pad(cache.values, (none, none, (0, slots), none)),
    )
    for cache in caches
  )
