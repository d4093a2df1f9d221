"""Log-probabilities under parameters of the past."""

import jax
import numpy as np
import pytest

from jaxkern import models
from jaxkern.learning import reference
from jaxkern.learning.batch import Batch


@pytest.mark.parametrize("rows", [2, 5, 8])
def test_a_batch_is_scored_in_parts_as_at_once(rows):
  policy = models.make(
    dict(width=8, layers=1, heads=1, kv_heads=1, hidden=8, max_new_tokens=4),
    vocab_size=11,
    end_id=1,
    pad_id=0,
  )
  params = policy.init(jax.random.key(0))
  rng = np.random.default_rng(0)
  mask = np.ones((5, 4), np.float32)
  mask[1, 2:] = 0
  batch = Batch(
    rng.integers(2, 11, (5, 3), np.int32),
    np.ones((5, 3), np.float32),
    rng.integers(2, 11, (5, 4), np.int32),
    mask,
    np.zeros((5, 4), np.float32),
    np.ones(5, np.float32),
  )
  got = reference.scored(policy, params, batch, rows, 0.5)
  wanted = policy.log_probs(params, *batch[:4], (), 0.5)
  np.testing.assert_allclose(got.reference_log_probs, wanted, atol=1e-6)
  assert got._replace(reference_log_probs=None) is not batch
  assert got.tokens is batch.tokens
