"""Rows to learn from, and how they are spread over devices.

Fixed letters: B batch, P prompt tokens, T completion tokens, N devices.
"""

from typing import Any, NamedTuple

import chex
import jax
import numpy as np


class Batch(NamedTuple):
  """Rows of prompt and completion.

  Attributes:
    prompts: int32 [B, P], padded on the left.
    prompt_mask: float32 [B, P].
    tokens: int32 [B, T].
    mask: float32 [B, T]; a row of zeros is padding and has no influence.
    old_log_probs: float32 [B, T] recorded at sampling; None to imitate.
    advantages: float32 [B]; None to imitate.
    trace: as sampled; leading axis B.
    reference_log_probs: float32 [B, T] under a frozen reference; None without.
  """

  prompts: chex.Array
  prompt_mask: chex.Array
  tokens: chex.Array
  mask: chex.Array
  old_log_probs: chex.Array | None = None
  advantages: chex.Array | None = None
  trace: Any = ()
  reference_log_probs: chex.Array | None = None


def pad_rows(batch: Batch, multiple: int) -> Batch:
  """Adds padding rows until B is a multiple; on the host."""
  missing = -len(batch.tokens) % multiple

  def pad(x):
    x = np.asarray(x)
    return np.pad(x, [(0, missing)] + [(0, 0)] * (x.ndim - 1))

  return jax.tree.map(pad, batch)


def shard(batch: Batch, devices: int, microbatch: int = 1) -> Batch:
  """Splits B over N devices: [B, ...] to [N, B' / N, ...].

  Padding rows are added until every device has the same whole number of
  microbatches, and one of few numbers: 1 to 8, 10, 12, 14, 16, 20 and so on.
  Every one costs a compilation, and how many turns teach something differs from
  step to step.
  """
  together = devices * microbatch
  count = max(1, -(-len(batch.tokens) // together))
  step = 1 << max(0, count.bit_length() - 3)
  padded = pad_rows(batch, -(-count // step) * step * together)
  return jax.tree.map(lambda x: x.reshape(devices, -1, *x.shape[1:]), padded)
