"""Rows that are handed on as they end are the rows of `sample`."""

import jax
import numpy as np
import pytest

from jaxkern import models

PAD, VOCAB = 0, 61


def policy_of(new, ends=(1,)):
  sizes = dict(width=16, layers=2, heads=2, kv_heads=1, hidden=16)
  return models.make(
    sizes | {"max_new_tokens": new}, vocab_size=VOCAB, end_id=ends, pad_id=PAD
  )


def prompts_of(rows):
  tokens = np.arange(rows * 5).reshape(rows, 5).astype(np.int32) % VOCAB
  mask = np.ones((rows, 5), np.float32)
  mask[0, :2] = 0
  return tokens, mask


@pytest.mark.parametrize("new", [8, 130])
@pytest.mark.parametrize("samples", [1, 2])
def test_every_row_comes_once_and_is_that_of_sample(new, samples):
  policy = policy_of(new, ends=(1, 4, 7))
  params = policy.init(jax.random.key(0))
  tokens, mask = prompts_of(4)
  keys = jax.random.split(jax.random.key(1), 4 * samples)
  arguments = (params, keys, tokens, mask, 1.0)
  whole = jax.device_get(policy.sample(*arguments, samples=samples))
  seen = []
  for rows, part in policy.stream(*arguments, samples=samples):
    seen += rows.tolist()
    for name in ("tokens", "mask"):
      np.testing.assert_array_equal(
        getattr(part, name), getattr(whole, name)[rows]
      )
    np.testing.assert_allclose(part.log_probs, whole.log_probs[rows], atol=1e-5)
  assert sorted(seen) == list(range(4 * samples))


def test_a_row_that_ends_early_does_not_wait_for_the_others():
  policy = policy_of(200)
  params = policy.init(jax.random.key(0))
  tokens, mask = prompts_of(16)
  keys = jax.random.split(jax.random.key(2), 16)
  lengths = []
  for _, part in policy.stream(params, keys, tokens, mask, 1.0):
    lengths.append(part.mask.sum(axis=1))
  assert len(lengths) > 1
  for earlier, later in zip(lengths, lengths[1:], strict=False):
    assert earlier.max() < later.min()


def test_a_row_that_never_ends_is_cut_at_the_longest_length():
  policy = policy_of(130, ends=(VOCAB - 1,))
  params = policy.init(jax.random.key(0))
  tokens, mask = prompts_of(2)
  keys = jax.random.split(jax.random.key(3), 2)
  found = {}
  for rows, part in policy.stream(params, keys, tokens, mask, 0.0):
    found |= dict(zip(rows.tolist(), part.mask.sum(axis=1), strict=True))
  assert set(found) == {0, 1} and set(found.values()) == {130}
