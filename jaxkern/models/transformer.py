"""A decoder of the Llama family: RMSNorm, RoPE, grouped queries, SwiGLU.

What may see what is the caller's: `visible`, or nothing for what is causal, so
a causal decoder and a block-wise denoiser share it. The KV cache is a pytree
that goes in and comes out.

Fixed letters: B batch, L tokens of this call, S slots attended to, W width,
H query heads, K key/value heads, D head width, V vocabulary.
"""

from typing import Any

import chex
import jax
import jax.numpy as jnp
from flax import linen as nn

from jaxkern.models import rope
from jaxkern.models.architecture import Architecture
from jaxkern.models.attention import Cache, Kind, attend, causal, stored, write
from jaxkern.models.decode_attention import decode, fits


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


def _float32_product(*args: Any, **options: Any) -> chex.Array:
  """A product whose sums come out as they are added up, in float32."""
  options["preferred_element_type"] = jnp.float32
  return jax.lax.dot_general(*args, **options)


class RMSNorm(nn.Module):
  """x / rms(x) * scale, in float32.

  Attributes:
    epsilon: added to the mean square.
    dtype: of the result.
    axes: of the scale, the last ones of x; the mean is over the last alone.
  """

  epsilon: float = 1e-6
  dtype: Any = jnp.float32
  axes: int = 1

  @nn.compact
  def __call__(self, x: chex.Array) -> chex.Array:
    """Like x, in dtype."""
    scale = self.param("scale", nn.initializers.ones, x.shape[-self.axes :])
    wide = x.astype(jnp.float32)
    rms = jnp.sqrt(jnp.mean(wide**2, axis=-1, keepdims=True) + self.epsilon)
    scale = jnp.expand_dims(scale, range(x.ndim - self.axes))
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
    attention: what it is done by; see `attention.Kind`.
    fused: parameters are those of `fuse`.
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
  attention: Kind = "auto"
  fused: bool = False
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
        self.attention,
        self.fused,
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
    visible: chex.Array | None = None,
    caches: tuple[Cache, ...] | None = None,
    slot: chex.Array | int = 0,
    filled: chex.Array | None = None,
  ) -> tuple[chex.Array, tuple[Cache, ...]]:
    """One pass over L tokens.

    Args:
      tokens: int32 [B, L].
      positions: int32 [B, L].
      visible: bool [B, L, S]; [b, l, s] whether token l sees slot s. Without
        caches, slots are the tokens of this call (S = L), and None lets each
        see itself and those before. [B, 1, S] if all of them see the same.
      caches: one per layer, S slots each. The keys and values of this call are
        written at slot, slot + 1, ... before attending.
      slot: int32 scalar.
      filled: int32 [B], with visible [B, 1, S]: nothing from there on is
        visible, which saves the fused kernel reading it.

    Returns:
      Normalised hidden states [B, L, W], and one cache per layer.
    """
    chex.assert_rank([tokens, positions], 2)
    if visible is not None:
      chex.assert_rank(visible, 3)
    x = self.embed(tokens)
    new = []
    for i, block in enumerate(self.blocks):
      cache = caches[i] if caches else None
      x, cache = block(x, positions, visible, cache, slot, filled)
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
    return self.logits(self(tokens, jnp.zeros_like(tokens))[0])


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
  attention: Kind = "auto"
  fused: bool = False

  def _dense(
    self, features: int, name: str, scale: float = 1.0, bias: bool = False
  ) -> nn.Dense:
    init = nn.initializers.variance_scaling(scale, "fan_in", "normal")
    return nn.Dense(
      features, use_bias=bias, dtype=self.dtype, kernel_init=init, name=name
    )

  def _norm(self, name: str) -> RMSNorm:
    return RMSNorm(self.norm_epsilon, self.dtype, name=name)

  def _projected(self, x: chex.Array) -> chex.Array:
    """Queries, keys and values of [B, L, W]: [B, L, H + 2 K, D]."""
    sizes = {"q": self.heads, "k": self.kv_heads, "v": self.kv_heads}
    if self.fused:
      sizes = {"qkv": sum(sizes.values())}
    parts = [
      self._dense(size * self.head_width, name, bias=self.qkv_bias)(x)
      for name, size in sizes.items()
    ]
    joined = parts[0] if self.fused else jnp.concatenate(parts, axis=-1)
    return joined.reshape(*x.shape[:2], -1, self.head_width)

  def _normed(self, x: chex.Array) -> chex.Array:
    """Queries and keys [B, L, H + K, D], each head by itself."""
    if self.fused:
      return RMSNorm(self.norm_epsilon, self.dtype, 2, name="qk_norm")(x)
    queries, keys = jnp.split(x, [self.heads], axis=2)
    parts = [self._norm("q_norm")(queries), self._norm("k_norm")(keys)]
    return jnp.concatenate(parts, axis=2)

  @nn.compact
  def __call__(
    self,
    x: chex.Array,
    positions: chex.Array,
    visible: chex.Array | None,
    cache: Cache | None,
    slot: chex.Array | int,
    filled: chex.Array | None,
  ) -> tuple[chex.Array, Cache]:
    """See `Transformer.__call__`; x is [B, L, W]."""
    # Each of the 2 * layers branches adds to the residual stream; scaled down,
    # their sum starts with the variance of one (GPT-2).
    out_scale = 0.5 / self.layers
    projected = self._projected(self._norm("attention_norm")(x))
    turned, values = jnp.split(projected, [self.heads + self.kv_heads], axis=2)
    turned = self._normed(turned) if self.qk_norm else turned
    turned = rotate(turned, positions, self.rope_base, self.rope_scaling)
    queries, keys = jnp.split(turned, [self.heads], axis=2)
    new = stored(keys, values)
    if cache is not None:
      new = write(cache, new, slot)
    if visible is None:
      mixed = causal(queries, keys, values, self.attention)
    elif filled is not None and self._has_kernel(queries):
      mixed = decode(queries, new, visible, filled)
    else:
      mixed = attend(queries, new, visible)
    mixed = mixed.reshape(*x.shape[:2], -1)
    x = x + self._dense(self.width, "o", out_scale)(mixed)

    gate, up = self._gate_and_up(self._norm("mlp_norm")(x))
    down = self._dense(self.width, "down", out_scale)
    return x + down(nn.silu(gate) * up), new

  def _has_kernel(self, queries: chex.Array) -> bool:
    return self.attention == "fused" and fits(queries, self.kv_heads)

  def _gate_and_up(self, x: chex.Array) -> list[chex.Array]:
    if self.fused:
      return jnp.split(self._dense(2 * self.hidden, "gate_up")(x), 2, axis=-1)
    return [self._dense(self.hidden, name)(x) for name in ("gate", "up")]


def build(
  architecture: Architecture,
  *,
  remat: bool = False,
  attention: Kind = "auto",
  dtype: Any = jnp.float32,
) -> Transformer:
  """The decoder that a checkpoint's architecture describes."""
  sizes = architecture._asdict()
  for name in ("family", "max_positions"):
    del sizes[name]
  return Transformer(**sizes, remat=remat, attention=attention, dtype=dtype)


def fuse(model: Transformer, params: Any) -> tuple[Transformer, Any]:
  """The same decoder with fewer and larger products, for writing.

  Matrices that are multiplied by the same thing become one, and are converted
  once to the dtype they are used in. Differs from the original by rounding.

  Args:
    model: not fused.
    params: its parameters.

  Returns:
    A decoder and its parameters. What is not changed is not copied.
  """

  def used(part: dict[str, Any]) -> dict[str, Any]:
    """Matrices and biases as `nn.Dense` and `nn.Embed` use them."""
    kept = ("scale",)  # Norms are float32.
    return {
      k: x if k in kept else x.astype(model.dtype) for k, x in part.items()
    }

  def joined(block: dict[str, Any], *names: str) -> dict[str, Any]:
    """Parts side by side, as one part."""
    parts = [used(block.pop(name)) for name in names]
    return {k: jnp.concatenate([p[k] for p in parts], -1) for k in parts[0]}

  def fused(block: dict[str, Any]) -> dict[str, Any]:
    """A block's parts."""
    block = dict(block)
    new = {"qkv": joined(block, "q", "k", "v")}
    new["gate_up"] = joined(block, "gate", "up")
    if model.qk_norm:
      scales = [
        jnp.broadcast_to(block.pop(name)["scale"], (heads, model.head_width))
        for name, heads in (("q_norm", model.heads), ("k_norm", model.kv_heads))
      ]
      new["qk_norm"] = {"scale": jnp.concatenate(scales)}
    return new | {name: used(part) for name, part in block.items()}

  parts = {
    name: fused(part) if name.startswith("blocks_") else used(part)
    for name, part in params["params"].items()
  }
  return model.clone(fused=True), {"params": parts}
