"""Losses as sums over tokens, so that devices and microbatches add up exactly.

Fixed letters: B batch, T completion tokens. Every array is float32.
"""

from typing import NamedTuple

import chex
import jax.numpy as jnp


class Loss(NamedTuple):
  """What some rows contribute; the sum over all rows is what counts.

  Attributes:
    total: scalar; the loss is total / weight, both summed over all rows.
    weight: scalar.
    tokens: scalar; completion tokens.
    metrics: scalars by name, each a sum over completion tokens.
  """

  total: chex.Array
  weight: chex.Array
  tokens: chex.Array
  metrics: dict[str, chex.Array]


def cross_entropy(log_probs: chex.Array, mask: chex.Array) -> Loss:
  """Mean of -log p over completion tokens.

  Args:
    log_probs: [B, T], of the tokens to imitate.
    mask: [B, T], 1 where a token counts.
  """
  chex.assert_rank([log_probs, mask], 2)
  chex.assert_equal_shape([log_probs, mask])
  tokens = jnp.sum(mask)
  return Loss(-jnp.sum(log_probs * mask), tokens, tokens, {})


def clipped_surrogate(
  log_probs: chex.Array,
  old_log_probs: chex.Array,
  advantages: chex.Array,
  mask: chex.Array,
  *,
  eps_low: float = 0.2,
  eps_high: float = 0.28,
  kl: float = 0.0,
  length: int | None = None,
) -> Loss:
  """PPO's clipped objective with separate bounds (GRPO, DAPO), to minimise.

  With r = p / p_old per token and A per row, the mean of
  -min(r A, clip(r, 1 - eps_low, 1 + eps_high) A) + kl (r - 1 - log r).

  Args:
    log_probs: [B, T], under the policy being updated.
    old_log_probs: [B, T], under the policy that sampled.
    advantages: [B].
    mask: [B, T], 1 where a token was sampled; rows without any are padding.
    eps_low: how far below 1 a ratio is still followed.
    eps_high: how far above.
    kl: weight of the k3 estimate of KL(p_old || p) (Schulman).
    length: divide by rows * length (Dr. GRPO), so that a token counts the same
      in long and short completions and batches; None for the mean over tokens.

  Returns:
    Loss with metrics, per token: entropy (-log p, unbiased on policy),
    approx_kl (k3), clip_fraction (share of tokens without gradient).
  """
  chex.assert_rank([log_probs, old_log_probs, advantages, mask], [2, 2, 1, 2])
  chex.assert_equal_shape([log_probs, old_log_probs, mask])
  log_ratio = (log_probs - old_log_probs) * mask
  ratio = jnp.exp(log_ratio)
  advantage = advantages[:, None]
  free = ratio * advantage
  clipped = jnp.clip(ratio, 1 - eps_low, 1 + eps_high) * advantage
  k3 = ratio - 1 - log_ratio
  per_token = -jnp.minimum(free, clipped) + kl * k3

  tokens = jnp.sum(mask)
  rows = jnp.sum(jnp.any(mask > 0, axis=1).astype(jnp.float32))
  metrics = {
    "entropy": jnp.sum(-log_probs * mask),
    "approx_kl": jnp.sum(k3 * mask),
    "clip_fraction": jnp.sum((clipped < free) * mask),
  }
  weight = tokens if length is None else rows * length
  return Loss(jnp.sum(per_token * mask), weight, tokens, metrics)
