import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkern.models.choose import choose, kept

PROBS = np.array([0.1, 0.4, 0.05, 0.25, 0.2])
LOGITS = np.log(PROBS)[None].astype(np.float32)


@pytest.mark.parametrize(
  ("top_k", "top_p", "expected"),
  [
    (2, None, [1, 3]),
    (1, None, [1]),
    (5, None, [0, 1, 2, 3, 4]),
    (None, 0.6, [1, 3]),
    (None, 0.66, [1, 3, 4]),
    (None, 0.01, [1]),
    (None, 1.0, [0, 1, 2, 3, 4]),
    # Of 0.4 and 0.25, 0.4 alone has more than 0.6.
    (2, 0.6, [1]),
    (2, 0.65, [1, 3]),
  ],
)
def test_the_likeliest_tokens_are_kept(top_k, top_p, expected):
  got = jax.jit(functools.partial(kept, top_k=top_k, top_p=top_p))(LOGITS)
  np.testing.assert_array_equal(np.flatnonzero(got[0]), expected)


def test_ties_stay_together_and_signs_do_not_matter():
  logits = np.array([[-1.0, 3.0, 0.0, 3.0, -2.0], [-5, -4, -3, -2, -1]])
  got = kept(jnp.asarray(logits, jnp.float32), 1, None)
  np.testing.assert_array_equal(got, [[0, 1, 0, 1, 0], [0, 0, 0, 0, 1]])


def test_draws_follow_what_is_left_and_log_probs_what_was_there():
  rows = 4096
  keys = jax.random.split(jax.random.key(0), rows)
  tokens, log_probs = choose(
    jnp.broadcast_to(LOGITS, (rows, 5)), 1.0, keys, top_k=2
  )
  share = np.bincount(tokens, minlength=5) / rows
  expected = np.array([0, 0.4, 0, 0.25, 0]) / 0.65
  deviation = np.sqrt(expected * (1 - expected) / rows)
  assert (np.abs(share - expected) <= 4.5 * deviation).all()
  np.testing.assert_allclose(log_probs, np.log(PROBS)[tokens], rtol=1e-5)


def test_temperature_flattens():
  _, log_probs = choose(jnp.asarray(LOGITS), 2.0, jax.random.key(0)[None])
  root = np.sqrt(PROBS) / np.sqrt(PROBS).sum()
  assert np.isclose(np.exp(log_probs), root, atol=1e-5).any()
