"""What a policy of the past would have given a batch's tokens.

Fixed letters: B batch, T completion tokens.
"""

from typing import Any

import jax
import numpy as np

from jaxkern.learning.batch import Batch, pad_rows
from jaxkern.models.policy import Policy


def scored(
  policy: Policy, params: Any, batch: Batch, rows: int, temperature: float
) -> Batch:
  """The batch with reference_log_probs [B, T], those under `params`.

  Args:
    policy: whose completions they are.
    params: of the reference, e.g. those that reinforcement began with.
    batch: on the host.
    rows: scored at once.
    temperature: the completions were sampled with.
  """
  padded = pad_rows(batch, rows)
  found = []
  for start in range(0, len(padded.tokens), rows):
    part = jax.tree.map(lambda x, a=start: x[a : a + rows], padded)
    log_probs = policy.log_probs(
      params,
      part.prompts,
      part.prompt_mask,
      part.tokens,
      part.mask,
      part.trace,
      temperature,
    )
    found.append(np.asarray(log_probs))
  return batch._replace(
    reference_log_probs=np.concatenate(found)[: len(batch.tokens)]
  )
