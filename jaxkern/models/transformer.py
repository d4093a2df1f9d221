"""A decoder of the Llama family: RMSNorm, RoPE, grouped queries, SwiGLU.

The module does not know what may see what: the caller passes `visible`, so a
causal decoder and a block-wise denoiser share it. The KV cache is a pytree that
goes in and comes out.

Fixed letters: B batch, L tokens of this call, S slots attended to, W width,
H query heads, K key/value heads, G = H / K, D head width, V vocabulary.
"""

from typing import Any, NamedTuple

import chex
import jax
import jax.numpy as jnp
from flax import linen as nn

from jaxkern.models import rope
from jaxkern.models.architecture import Architecture

_HIDDEN = -1e30  # Finite: a row that sees nothing gets a mean, not NaN.


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


def rotate(
  x: chex.Array,
  positions: chex.Array,
  base: float,
  scaling: rope.Scaling | None = None,
) -> chex.Array:
  """Rotary position embedding (RoFormer), halves convention of Llama and Qwen.

  Args:
    x: [B, L, heads, D], D even.
    positions: int32 [B, L].
    base: the longest wavelength is about 2 pi base.
    scaling: for contexts longer than trained with.

  Returns:
    Like x; the pair (i, i + D/2) turned by position / base^(2i/D), or as
    scaling has it.
  """
  half = x.shape[-1] // 2
  if scaling is None:
    frequency = base ** (-jnp.arange(half, dtype=jnp.float32) / half)
  else:
    frequency = jnp.asarray(rope.frequencies(2 * half, base, scaling))
  angle = positions[:, :, None, None] * frequency[None, None, None, :]
  cos, sin = jnp.cos(angle), jnp.sin(angle)
  if scaling is not None:
    size = rope.magnitude(scaling)
    cos, sin = size * cos, size * sin
  first, second = jnp.split(x.astype(jnp.float32), 2, axis=-1)
  turned = (first * cos - second * sin, second * cos + first * sin)
  return jnp.concatenate(turned, axis=-1).astype(x.dtype)


def attend(
  queries: chex.Array, cache: Cache, visible: chex.Array
) -> chex.Array:
  """Grouped-query attention; softmax in float32.

  Args:
    queries: [B, L, H, D]; query head h reads key head h // G.
    cache: K heads, S slots.
    visible: bool [B, L, S].

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


def _float32_product(*args: Any, **options: Any) -> chex.Array:
  """A product whose sums come out as they are added up, in float32."""
  options["preferred_element_type"] = jnp.float32
  return jax.lax.dot_general(*args, **options)


class RMSNorm(nn.Module):
  """x / rms(x) * scale, in float32."""

  epsilon: float = 1e-6
  dtype: Any = jnp.float32

  @nn.compact
  def __call__(self, x: chex.Array) -> chex.Array:
    """Like x, in dtype."""
    scale = self.param("scale", nn.initializers.ones, x.shape[-1:])
    wide = x.astype(jnp.float32)
    rms = jnp.sqrt(jnp.mean(wide**2, axis=-1, keepdims=True) + self.epsilon)
    scale = jnp.expand_dims(scale, range(x.ndim - 1))
    return (wide / rms * scale).astype(self.dtype)


class Transformer(nn.Module):
  """Tokens to hidden states; `logits` then serves the states one needs.

  Attributes:
    vocab_size: V.
    width: W.
    layers: number of blocks.
    heads: H.
    kv_heads: K, a divisor of H.
    head_width: D.
    hidden: inner width of the SwiGLU.
    rope_base, rope_scaling: see `rotate`.
    norm_epsilon: of every RMSNorm.
    qk_norm: normalise each head's queries and keys before they are rotated.
    qkv_bias: queries, keys and values have biases.
    tied: whether the logits reuse the embedding table.
    remat: recompute each block in the backward pass instead of storing it.
    dtype: of activations. Norms, softmax and logits are float32; parameters
      are made in float32 and used in whatever dtype they come.
  """

  vocab_size: int
  width: int
  layers: int
  heads: int
  kv_heads: int
  head_width: int
  hidden: int
  rope_base: float = 1e4
  rope_scaling: rope.Scaling | None = None
  norm_epsilon: float = 1e-6
  qk_norm: bool = False
  qkv_bias: bool = False
  tied: bool = True
  remat: bool = False
  dtype: Any = jnp.float32

  def setup(self) -> None:
    """Names the parts: embed, blocks_0, ..., norm, unembed."""
    self.embed = nn.Embed(
      self.vocab_size,
      self.width,
      embedding_init=nn.initializers.normal(0.02),
      dtype=self.dtype,
    )
    block = nn.remat(Block) if self.remat else Block
    self.blocks = [
      block(
        self.width,
        self.layers,
        self.heads,
        self.kv_heads,
        self.head_width,
        self.hidden,
        self.rope_base,
        self.dtype,
        self.rope_scaling,
        self.norm_epsilon,
        self.qk_norm,
        self.qkv_bias,
      )
      for _ in range(self.layers)
    ]
    self.norm = RMSNorm(self.norm_epsilon, self.dtype)
    if not self.tied:
      self.unembed = nn.Dense(
        self.vocab_size,
        use_bias=False,
        dtype=self.dtype,
        dot_general=_float32_product,
      )

  def __call__(
    self,
    tokens: chex.Array,
    positions: chex.Array,
    visible: chex.Array,
    caches: tuple[Cache, ...] | None = None,
    slot: chex.Array | int = 0,
  ) -> tuple[chex.Array, tuple[Cache, ...]]:
    """One pass over L tokens.

    Args:
      tokens: int32 [B, L].
      positions: int32 [B, L].
      visible: bool [B, L, S]; [b, l, s] whether token l sees slot s. Without
        caches, slots are the tokens of this call (S = L).
      caches: one per layer, S slots each. The keys and values of this call are
        written at slot, slot + 1, ... before attending.
      slot: int32 scalar.

    Returns:
      Normalised hidden states [B, L, W], and one cache per layer.
    """
    chex.assert_rank([tokens, positions, visible], [2, 2, 3])
    x = self.embed(tokens)
    new = []
    for i, block in enumerate(self.blocks):
      cache = caches[i] if caches else None
      x, cache = block(x, positions, visible, cache, slot)
      new.append(cache)
    return self.norm(x), tuple(new)

  def logits(self, states: chex.Array) -> chex.Array:
    """Float32 [..., V] of hidden states [..., W]."""
    if not self.tied:
      return self.unembed(states)
    table = self.embed.embedding.astype(self.dtype)
    states = states.astype(self.dtype)
    return jnp.dot(states, table.T, preferred_element_type=jnp.float32)

  def initialise(self, tokens: chex.Array) -> chex.Array:
    """Touches every parameter; only for `init`."""
    length = tokens.shape[1]
    visible = jnp.ones((1, length, length), bool)
    return self.logits(self(tokens, jnp.zeros_like(tokens), visible)[0])


class Block(nn.Module):
  """Attention and SwiGLU, each normalised before and added after."""

  width: int
  layers: int
  heads: int
  kv_heads: int
  head_width: int
  hidden: int
  rope_base: float
  dtype: Any
  rope_scaling: rope.Scaling | None = None
  norm_epsilon: float = 1e-6
  qk_norm: bool = False
  qkv_bias: bool = False

  def _dense(
    self, features: int, name: str, scale: float = 1.0, bias: bool = False
  ) -> nn.Dense:
    init = nn.initializers.variance_scaling(scale, "fan_in", "normal")
    return nn.Dense(
      features, use_bias=bias, dtype=self.dtype, kernel_init=init, name=name
    )

  def _norm(self, name: str) -> RMSNorm:
    return RMSNorm(self.norm_epsilon, self.dtype, name=name)

  @nn.compact
  def __call__(
    self,
    x: chex.Array,
    positions: chex.Array,
    visible: chex.Array,
    cache: Cache | None,
    slot: chex.Array | int,
  ) -> tuple[chex.Array, Cache]:
    """See `Transformer.__call__`; x is [B, L, W]."""
    # Each of the 2 * layers branches adds to the residual stream; scaled down,
    # their sum starts with the variance of one (GPT-2).
    out_scale = 0.5 / self.layers
    batch, length, _ = x.shape

    def project(heads: int, name: str) -> chex.Array:
      dense = self._dense(heads * self.head_width, name, bias=self.qkv_bias)
      return dense(normed).reshape(batch, length, heads, self.head_width)

    def turned(heads: int, name: str) -> chex.Array:
      """Queries or keys, as they are compared."""
      x = project(heads, name)
      x = self._norm(f"{name}_norm")(x) if self.qk_norm else x
      return rotate(x, positions, self.rope_base, self.rope_scaling)

    normed = self._norm("attention_norm")(x)
    queries = turned(self.heads, "q")
    keys = turned(self.kv_heads, "k")
    values = project(self.kv_heads, "v")
    new = Cache(keys.transpose(0, 2, 3, 1), values.transpose(0, 2, 1, 3))
    if cache is not None:
      write = jax.lax.dynamic_update_slice_in_dim
      new = Cache(
        write(cache.keys, new.keys, slot, axis=3),
        write(cache.values, new.values, slot, axis=2),
      )
    mixed = attend(queries, new, visible).reshape(batch, length, -1)
    x = x + self._dense(self.width, "o", out_scale)(mixed)

    normed = self._norm("mlp_norm")(x)
    gate = self._dense(self.hidden, "gate")(normed)
    up = self._dense(self.hidden, "up")(normed)
    down = self._dense(self.width, "down", out_scale)
    return x + down(nn.silu(gate) * up), new


def build(
  architecture: Architecture, *, remat: bool = False, dtype: Any = jnp.float32
) -> Transformer:
  """The decoder that a checkpoint's architecture describes."""
  sizes = architecture._asdict()
  for name in ("family", "max_positions"):
    del sizes[name]
  return Transformer(**sizes, remat=remat, dtype=dtype)
