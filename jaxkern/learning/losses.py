"""Losses as sums over tokens, so that devices and microbatches add up exactly.

Fixed letters: B batch, T completion tokens. Every array is float32.
"""

from collections.abc import Callable
from typing import NamedTuple

import chex
import jax
import jax.numpy as jnp

from jaxkern.learning import mismatch

# (log_ratio [B, T], advantages [B]) to what to minimise and where it is cut.
Objective = Callable[[chex.Array, chex.Array], tuple[chex.Array, chex.Array]]


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


def clipped(
  log_ratio: chex.Array,
  advantages: chex.Array,
  *,
  eps_low: float = 0.2,
  eps_high: float = 0.28,
) -> tuple[chex.Array, chex.Array]:
  """PPO's clipped objective with separate bounds (GRPO, DAPO).

  -min(r A, clip(r, 1 - eps_low, 1 + eps_high) A).

  Args:
    log_ratio: [B, T], log r = log p - log p_old.
    advantages: [B].
    eps_low: how far below 1 a ratio is still followed.
    eps_high: how far above.

  Returns:
    What to minimise and where it is cut, both [B, T].
  """
  chex.assert_rank([log_ratio, advantages], [2, 1])
  advantage = advantages[:, None]
  free = jnp.exp(log_ratio) * advantage
  bounded = jnp.clip(jnp.exp(log_ratio), 1 - eps_low, 1 + eps_high) * advantage
  return -jnp.minimum(free, bounded), bounded < free


def truncated(
  log_ratio: chex.Array, advantages: chex.Array, *, cap: float
) -> tuple[chex.Array, chex.Array]:
  """Policy gradient under a truncated importance weight.

  -min(r, cap) A log p, where the weight is a constant: it corrects for the
  policy that sampled having been another (an older one, or the same in other
  arithmetic), with a variance that cap bounds. No token loses its gradient.

  Args:
    log_ratio: [B, T], log r = log p - log p_old.
    advantages: [B].
    cap: at least 1.

  Returns:
    What to minimise and where it is cut, both [B, T]. The value is that of
    -min(r, cap) A, the gradient that of the line above.
  """
  chex.assert_rank([log_ratio, advantages], [2, 1])
  fixed = jax.lax.stop_gradient(log_ratio)
  weight = jnp.minimum(jnp.exp(fixed), cap)
  slope = 1 + log_ratio - fixed
  return -weight * advantages[:, None] * slope, jnp.exp(fixed) > cap


OBJECTIVES = {"clipped": clipped, "truncated": truncated}


def policy_gradient(
  log_probs: chex.Array,
  old_log_probs: chex.Array,
  advantages: chex.Array,
  mask: chex.Array,
  *,
  objective: Objective = clipped,
  keep: mismatch.Keep = mismatch.everything,
  kl: float = 0.0,
  length: int | None = None,
  reference: chex.Array | None = None,
) -> Loss:
  """The mean of an objective over tokens, plus kl (r - 1 - log r).

  Args:
    log_probs: [B, T], under the policy being updated.
    old_log_probs: [B, T], under the policy that sampled.
    advantages: [B].
    mask: [B, T], 1 where a token was sampled; rows without any are padding.
    objective: of OBJECTIVES.
    keep: which rows to learn from; see `mismatch`.
    kl: weight of the k3 estimate (Schulman) of KL(p_old || p), r = p / p_old;
      with a reference of KL(p || p_ref), r = p_ref / p.
    length: divide by rows * length (Dr. GRPO), so that a token counts the same
      in long and short completions and batches; None for the mean over tokens.
    reference: [B, T], log-probabilities under a frozen policy.

  Returns:
    Loss with metrics, per token: entropy (-log p, unbiased on policy),
    approx_kl (k3), log_ratio (its absolute value), clip_fraction (share of
    tokens that the objective cuts), rejected (share of tokens not kept), and
    with a reference reference_kl.
  """
  chex.assert_rank([log_probs, old_log_probs, advantages, mask], [2, 2, 1, 2])
  chex.assert_equal_shape([log_probs, old_log_probs, mask])
  log_ratio = (log_probs - old_log_probs) * mask
  kept = jax.lax.stop_gradient(keep(log_ratio, mask))[:, None] * mask
  distance = jnp.sum(jnp.abs(log_ratio))
  # What is not kept may be so far off that its ratio overflows.
  log_ratio = jnp.where(kept > 0, log_ratio, 0.0)
  value, cut = objective(log_ratio, advantages)
  k3 = _k3(log_ratio)
  drift = k3
  if reference is not None:
    chex.assert_equal_shape([log_probs, reference])
    drift = _k3(jnp.where(kept > 0, reference - log_probs, 0.0))
  per_token = (value + kl * drift) * kept

  tokens = jnp.sum(mask)
  rows = jnp.sum(jnp.any(kept > 0, axis=1).astype(jnp.float32))
  metrics = {
    "entropy": jnp.sum(-log_probs * mask),
    "approx_kl": jnp.sum(k3 * mask),
    "log_ratio": distance,
    "clip_fraction": jnp.sum(cut * kept),
    "rejected": jnp.sum(mask - kept),
  }
  if reference is not None:
    metrics["reference_kl"] = jnp.sum(drift * kept)
  weight = jnp.sum(kept) if length is None else rows * length
  return Loss(jnp.sum(per_token), weight, tokens, metrics)


def _k3(log_ratio: chex.Array) -> chex.Array:
  """r - 1 - log r: not negative, and of mean KL where r is sampled."""
  return jnp.exp(log_ratio) - 1 - log_ratio
