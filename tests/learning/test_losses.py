import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkern.learning import losses, mismatch

LOG = np.log(np.array([[0.5, 0.2, 0.9], [0.4, 0.8, 0.7]], np.float32))
MASK = np.array([[1, 1, 0], [1, 0, 0]], np.float32)
ONES = np.ones(2, np.float32)


def surrogate(ratio, advantage, **options):
  """The loss of a single token with this ratio."""
  new = jnp.log(jnp.array([[ratio]]))
  old = jnp.zeros((1, 1))
  return losses.policy_gradient(
    new, old, jnp.array([advantage]), jnp.ones((1, 1)), **options
  )


def test_cross_entropy_is_minus_log_p_over_the_mask():
  got = losses.cross_entropy(LOG, MASK)
  np.testing.assert_allclose(got.total, -np.log(0.5 * 0.2 * 0.4), rtol=1e-6)
  assert got.weight == got.tokens == 3


@pytest.mark.parametrize(
  ("ratio", "advantage", "expected", "clipped"),
  [
    (1.1, 2.0, -2.2, 0),  # inside
    (1.5, 2.0, -2.56, 1),  # 1.28 * 2
    (0.5, 2.0, -1.0, 0),  # moving back is followed
    (0.5, -2.0, 1.6, 1),  # 0.8 * 2
    (1.5, -2.0, 3.0, 0),
  ],
)
def test_surrogate_follows_the_ratio_until_its_bound(
  ratio, advantage, expected, clipped
):
  got = surrogate(ratio, advantage)
  np.testing.assert_allclose(got.total, expected, rtol=1e-5)
  assert got.metrics["clip_fraction"] == clipped


def test_clipped_tokens_have_no_gradient():
  slope = jax.grad(lambda r: surrogate(r, 1.0).total)
  assert slope(1.5) == 0
  np.testing.assert_allclose(slope(1.1), -1.0, rtol=1e-5)


def test_on_policy_gradient_is_minus_advantage():
  advantages = np.array([0.5, -1.0], np.float32)
  gradient = jax.grad(
    lambda x: losses.policy_gradient(x, LOG, advantages, MASK).total
  )(LOG)
  expected = -advantages[:, None] * MASK
  np.testing.assert_allclose(gradient, expected, rtol=1e-6)


def test_bounds_are_separate():
  bounds = functools.partial(losses.clipped, eps_low=0.1, eps_high=0.4)
  np.testing.assert_allclose(
    surrogate(2.0, 1.0, objective=bounds).total, -1.4, rtol=1e-6
  )
  np.testing.assert_allclose(
    surrogate(0.5, -1.0, objective=bounds).total, 0.9, rtol=1e-6
  )


@pytest.mark.parametrize(
  ("ratio", "weight", "cut"), [(0.5, 0.5, 0), (1.5, 1.5, 0), (4.0, 2.0, 1)]
)
@pytest.mark.parametrize("advantage", [1.5, -1.5])
def test_truncated_weights_the_gradient_of_log_p(ratio, weight, cut, advantage):
  objective = functools.partial(losses.truncated, cap=2.0)
  got = surrogate(ratio, advantage, objective=objective)
  np.testing.assert_allclose(got.total, -weight * advantage, rtol=1e-6)
  assert got.metrics["clip_fraction"] == cut
  slope = jax.grad(
    lambda log_r: (
      surrogate(jnp.exp(log_r), advantage, objective=objective).total
    )
  )(np.log(ratio).astype(np.float32))
  np.testing.assert_allclose(slope, -weight * advantage, rtol=1e-5)


def test_rows_that_are_not_kept_do_not_count():
  wild = np.where(np.array([[1], [0]]) > 0, LOG, LOG + 200).astype(np.float32)
  keep = functools.partial(mismatch.mean_absolute, delta=1.0)

  def loss(x, **options):
    """Mean over kept rows of 10 tokens, or kept tokens."""
    return losses.policy_gradient(x, LOG, ONES, MASK, keep=keep, **options)

  got = loss(wild, length=10, kl=0.1)
  np.testing.assert_allclose(got.total, -2.0, rtol=1e-6)
  assert got.weight == 10 and got.tokens == 3
  assert got.metrics["rejected"] == 1
  assert loss(wild).weight == 2
  gradient = jax.grad(lambda x: loss(x, kl=0.1).total)(wild)
  np.testing.assert_allclose(gradient, [[-1, -1, 0], [0, 0, 0]], rtol=1e-6)


def test_log_ratio_metric_is_how_far_the_two_are_apart():
  got = losses.policy_gradient(LOG + 0.5 * (2 * MASK - 1), LOG, ONES, MASK)
  np.testing.assert_allclose(got.metrics["log_ratio"], 1.5, rtol=1e-5)


def test_weight_is_tokens_or_rows_times_length():
  args = (LOG, LOG, ONES, MASK)
  assert losses.policy_gradient(*args).weight == 3
  assert losses.policy_gradient(*args, length=10).weight == 20


def test_padding_rows_have_no_weight():
  mask = MASK * np.array([[1], [0]], np.float32)
  got = losses.policy_gradient(LOG, LOG, ONES, mask, length=10)
  assert got.weight == 10
  assert got.tokens == 2


def test_kl_is_k3_and_pulls_towards_the_sampling_policy():
  got = surrogate(2.0, 0.0, kl=0.5)
  k3 = 2 - 1 - np.log(2)
  np.testing.assert_allclose(got.total, 0.5 * k3, rtol=1e-6)
  np.testing.assert_allclose(got.metrics["approx_kl"], k3, rtol=1e-6)
  assert jax.grad(lambda r: surrogate(r, 0.0, kl=0.5).total)(2.0) > 0


def test_with_a_reference_kl_pulls_towards_it():
  reference = jnp.log(jnp.array([[0.5]]))
  got = surrogate(2.0, 0.0, kl=0.25, reference=reference)
  # r = 0.5 / 2: 0.25 - 1 - log 0.25.
  k3 = 0.25 - 1 + np.log(4)
  np.testing.assert_allclose(got.total, 0.25 * k3, rtol=1e-6)
  np.testing.assert_allclose(got.metrics["reference_kl"], k3, rtol=1e-6)
  # What the sampler gave does not matter to it.
  approx = 2.0 - 1 - np.log(2)
  np.testing.assert_allclose(got.metrics["approx_kl"], approx, rtol=1e-6)

  def slope(ratio):
    """Of the loss at p / p_old = ratio."""
    return jax.grad(
      lambda r: surrogate(r, 0.0, kl=0.25, reference=reference).total
    )(ratio)

  assert slope(2.0) > 0 > slope(0.25) and slope(0.5) == 0


def test_without_weight_a_reference_is_only_looked_at():
  reference = jnp.log(jnp.array([[0.5]]))
  got = surrogate(1.1, 2.0, reference=reference)
  np.testing.assert_allclose(got.total, surrogate(1.1, 2.0).total)
  assert got.metrics["reference_kl"] > 0


def test_entropy_metric_sums_minus_log_p_over_the_mask():
  got = losses.policy_gradient(LOG, LOG, ONES, MASK)
  np.testing.assert_allclose(
    got.metrics["entropy"], -np.log(0.5 * 0.2 * 0.4), rtol=1e-6
  )
  assert got.metrics["approx_kl"] == 0


def test_log_probs_outside_the_mask_do_not_matter():
  wild = np.where(MASK > 0, LOG, 1e4).astype(np.float32)
  got = losses.policy_gradient(wild, LOG, ONES, MASK)
  np.testing.assert_allclose(got.total, -3.0, rtol=1e-6)


def test_shapes_that_differ_are_an_error():
  with pytest.raises(AssertionError):
    losses.cross_entropy(LOG, MASK[:, :2])
