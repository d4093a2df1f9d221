"""Drawing tokens from logits.

Fixed letters: B batch, V vocabulary.
"""

import chex
import jax
import jax.numpy as jnp


def choose(
  logits: chex.Array,
  temperature: chex.Array | float,
  keys: chex.Array,
  *,
  top_k: int | None = None,
  top_p: float | None = None,
) -> tuple[chex.Array, chex.Array]:
  """A token per row by the Gumbel trick, and its log-probability.

  Every row has its own noise, so that no row depends on its neighbours.

  Args:
    logits: float32 [B, V].
    temperature: 0 takes the likeliest.
    keys: [B].
    top_k: only the k likeliest are drawn, and those as likely as the last.
    top_p: of these, only the likeliest that have this probability together.

  Returns:
    int32 [B], and float32 [B]: log-probabilities at temperature (at 1 if that
    is 0) among all tokens, whatever top_k and top_p exclude.
  """
  chex.assert_rank([logits, keys], [2, 1])
  scaled = tempered(logits, temperature)
  noise = jax.vmap(lambda k: jax.random.gumbel(k, logits.shape[1:]))(keys)
  score = scaled + jnp.where(temperature == 0, 0.0, noise)
  if top_k is not None or top_p is not None:
    score = jnp.where(kept(scaled, top_k, top_p), score, -jnp.inf)
  tokens = jnp.argmax(score, axis=-1).astype(jnp.int32)
  return tokens, log_prob(scaled, tokens)


def tempered(logits: chex.Array, temperature: chex.Array | float) -> chex.Array:
  """Logits at temperature, or at 1 if that is 0."""
  return logits / jnp.where(temperature == 0, 1.0, temperature)


def log_prob(logits: chex.Array, tokens: chex.Array) -> chex.Array:
  """Log-probabilities of tokens [...] under logits [..., V]."""
  taken = jnp.take_along_axis(logits, tokens[..., None], axis=-1)[..., 0]
  return taken - jax.nn.logsumexp(logits, axis=-1)


def kept(
  logits: chex.Array, top_k: int | None, top_p: float | None
) -> chex.Array:
  """Bool [B, V]: which tokens top-k and then top-p leave; ties stay together.

  Finds thresholds instead of sorting, which a GPU does slowly for a vocabulary.
  """
  everything = jnp.ones(logits.shape, bool)
  order = _ordered(logits)
  if top_k is not None and top_k < logits.shape[-1]:
    everything = order >= _largest(
      lambda t: jnp.sum(order >= t, axis=-1, keepdims=True) >= top_k, order
    )
  if top_p is None:
    return everything
  probs = jax.nn.softmax(jnp.where(everything, logits, -jnp.inf), axis=-1)

  def enough(threshold):
    """Whether tokens from a threshold on have the probability together."""
    above = jnp.where(order >= threshold, probs, 0.0)
    return jnp.sum(above, axis=-1, keepdims=True) >= top_p

  return everything & (order >= _largest(enough, order))


def _ordered(x):
  """uint32 in the order of float32 x."""
  bits = jax.lax.bitcast_convert_type(x, jnp.uint32)
  top = jnp.uint32(1 << 31)
  return jnp.where(bits & top, ~bits, bits | top)


def _largest(enough, order):
  """The largest uint32 [B, 1] for which `enough` holds; it does for 0."""

  def bit(i, threshold):
    """Sets bit 31 - i if `enough` still holds."""
    more = threshold | (jnp.uint32(1 << 31) >> i.astype(jnp.uint32))
    return jnp.where(enough(more), more, threshold)

  start = jnp.zeros((len(order), 1), jnp.uint32)
  return jax.lax.fori_loop(0, 32, bit, start)
