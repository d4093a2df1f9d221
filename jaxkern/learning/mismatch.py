"""Which completions to learn from, by how the trainer and the sampler differ.

Both give a sampled token a probability. On policy the two are the same but for
arithmetic; where they are not, the gradient is of something else. A test looks
at log r = log p_trainer - log p_sampler of a completion's tokens, [B, T], 0
outside of the mask, and returns 1 or 0 per row.
"""

from collections.abc import Callable

import chex
import jax.numpy as jnp

Keep = Callable[[chex.Array, chex.Array], chex.Array]


def everything(log_ratio: chex.Array, mask: chex.Array) -> chex.Array:
  """Keeps all rows."""
  del mask
  return jnp.ones(len(log_ratio))


def geometric_mean(
  log_ratio: chex.Array,
  mask: chex.Array,
  *,
  low: float,
  high: float,
  veto: float,
) -> chex.Array:
  """Dr. Kernel's rejection (arXiv 2602.05885): low <= exp(mean log r) <= high.

  A row with a token of r < veto is rejected, whatever its mean.
  """
  chex.assert_rank([log_ratio, mask], 2)
  mean = jnp.exp(_mean(log_ratio, mask))
  worst = jnp.exp(jnp.min(log_ratio, axis=1))  # Of padding: r = 1.
  kept = (low <= mean) & (mean <= high) & (worst >= veto)
  return kept.astype(jnp.float32)


def mean_absolute(
  log_ratio: chex.Array, mask: chex.Array, *, delta: float
) -> chex.Array:
  """MusaCoder's MirrorPop (arXiv 2606.04847): mean |log r| <= delta.

  Tokens that err up and down do not make up for each other.
  """
  chex.assert_rank([log_ratio, mask], 2)
  kept = _mean(jnp.abs(log_ratio), mask) <= delta
  return kept.astype(jnp.float32)


KEEP = {
  "everything": everything,
  "geometric_mean": geometric_mean,
  "mean_absolute": mean_absolute,
}


def _mean(values: chex.Array, mask: chex.Array) -> chex.Array:
  """Over a row's tokens; 0 of none."""
  tokens = jnp.maximum(jnp.sum(mask, axis=1), 1.0)
  return jnp.sum(values * mask, axis=1) / tokens
