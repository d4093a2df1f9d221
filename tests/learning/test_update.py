from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from jaxkern.learning.batch import Batch, shard
from jaxkern.learning.update import (
  imitate,
  init_state,
  make_optimizer,
  make_update,
  reinforce,
  replicate,
  unreplicate,
)
from jaxkern.models.autoregressive import autoregressive
from jaxkern.models.policy import Policy

POLICY = autoregressive(
  vocab_size=9, width=8, layers=1, heads=2, kv_heads=1, hidden=16,
  max_new_tokens=3, end_id=1, pad_id=0,
)  # fmt: skip


def params():
  return POLICY.init(jax.random.key(0))


def uneven_batch(rows=6):
  rng = np.random.default_rng(0)
  lengths = rng.integers(1, 6, rows)
  mask = (np.arange(5)[None, :] < lengths[:, None]).astype(np.float32)
  return Batch(
    prompts=rng.integers(2, 9, (rows, 4), dtype=np.int32),
    prompt_mask=np.ones((rows, 4), np.float32),
    tokens=rng.integers(2, 9, (rows, 5), dtype=np.int32),
    mask=mask,
    old_log_probs=np.full((rows, 5), -2.2, np.float32),
    advantages=rng.normal(size=rows).astype(np.float32),
  )


def run(loss, batch, devices, microbatch=None, steps=2):
  """Parameters and metrics after some steps on that many devices."""
  optimizer = make_optimizer(0.01, clip_norm=0.5, weight_decay=0.1)
  update = make_update(POLICY, optimizer, loss, microbatch=microbatch)
  state = replicate(
    init_state(params(), optimizer), jax.local_devices()[:devices]
  )
  sharded = shard(batch, devices, microbatch or 1)
  for _ in range(steps):
    state, metrics = update(state, sharded)
  return unreplicate(state).params, metrics


def assert_same(got, expected):
  """Parameters and metrics agree within float32 rounding."""
  jax.tree.map(
    lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=2e-5),
    got,
    expected,
  )


@pytest.mark.parametrize("loss", [imitate, reinforce(kl=0.1, length=5)])
def test_two_devices_equal_one_for_uneven_rows_and_masks(loss):
  batch = uneven_batch(rows=5)
  assert_same(run(loss, batch, devices=2), run(loss, batch, devices=1))


def test_microbatches_on_two_devices_equal_one_pass_on_one():
  loss, batch = reinforce(), uneven_batch(rows=5)
  assert_same(run(loss, batch, 2, microbatch=2), run(loss, batch, 1))


def test_one_step_of_gradient_descent_is_as_computed_by_hand():
  """A policy with p(token 1) = sigmoid(w), w = 0, taught token 1 of 1, 1, 0."""

  def log_probs(w, prompts, prompt_mask, tokens, mask, trace, temperature):
    one = jax.nn.log_sigmoid(w)
    return jnp.where(tokens == 1, one, jax.nn.log_sigmoid(-w)) * mask

  toy: Any = Policy(None, None, log_probs)
  optimizer = optax.sgd(1.0)
  tokens = np.array([[1, 1], [0, 0]], np.int32)
  mask = np.array([[1, 1], [1, 0]], np.float32)
  batch = Batch(tokens, mask, tokens, mask)
  state = replicate(init_state(jnp.zeros(()), optimizer))
  update = make_update(toy, optimizer, imitate)
  state, metrics = update(state, shard(batch, 2))
  # d/dw of -(2 log s(w) + log s(-w)) / 3 at 0 is -(2/2 - 1/2) / 3 = -1/6.
  state = unreplicate(state)
  np.testing.assert_allclose(state.params, 1 / 6, rtol=1e-6)
  np.testing.assert_allclose(metrics["loss"], np.log(2), rtol=1e-6)
  np.testing.assert_allclose(metrics["grad_norm"], 1 / 6, rtol=1e-6)
  assert metrics["tokens"] == 3
  assert state.step == 1


def test_padding_alone_changes_nothing_without_weight_decay():
  batch = uneven_batch(2)._replace(mask=np.zeros((2, 5), np.float32))
  optimizer = make_optimizer(0.1, clip_norm=1.0)
  update = make_update(POLICY, optimizer, reinforce())
  state, metrics = update(
    replicate(init_state(params(), optimizer)), shard(batch, 2)
  )
  jax.tree.map(
    np.testing.assert_array_equal, unreplicate(state).params, params()
  )
  assert metrics["loss"] == 0


def test_the_callers_parameters_survive_the_donation():
  mine = params()
  optimizer = make_optimizer(0.1, clip_norm=1.0)
  update = make_update(POLICY, optimizer, imitate)
  state = replicate(init_state(mine, optimizer))
  update(state, shard(uneven_batch(2), 2))
  assert all(jnp.isfinite(x).all() for x in jax.tree.leaves(mine))


def test_rows_that_do_not_divide_into_microbatches_are_an_error():
  optimizer = make_optimizer(0.1, clip_norm=1.0)
  update = make_update(POLICY, optimizer, imitate, microbatch=2)
  state = replicate(init_state(params(), optimizer))
  with pytest.raises(ValueError, match="microbatch: expected a divisor of 3"):
    update(state, shard(uneven_batch(6), 2))


def test_imitation_learns_a_completion():
  tokens = np.array([[4, 5, 1]] * 2, np.int32)
  prompts = np.array([[2, 3]] * 2, np.int32)
  batch = Batch(
    prompts, np.ones((2, 2), np.float32), tokens, np.ones((2, 3), np.float32)
  )
  optimizer = make_optimizer(0.03, clip_norm=1.0)
  update = make_update(POLICY, optimizer, imitate)
  state = replicate(init_state(params(), optimizer))
  for _ in range(40):
    state, metrics = update(state, shard(batch, 2))
  assert metrics["loss"] < 0.1
  drawn = POLICY.sample(
    unreplicate(state).params, jax.random.key(0), *batch[:2], temperature=0.0
  )
  np.testing.assert_array_equal(drawn.tokens, tokens)


def test_reinforcement_raises_the_reward_of_a_bandit():
  """The reward is 1 when the first token is 7, one of nine arms."""
  optimizer = make_optimizer(0.03, clip_norm=1.0)
  update = make_update(POLICY, optimizer, reinforce(length=3))
  state = replicate(init_state(params(), optimizer))
  prompts = np.full((32, 2), 2, np.int32)
  prompt_mask = np.ones((32, 2), np.float32)
  rewards = []
  for step in range(20):
    drawn = jax.device_get(
      POLICY.sample(
        unreplicate(state).params,
        jax.random.key(step),
        prompts,
        prompt_mask,
        temperature=1.0,
      )
    )
    reward = (drawn.tokens[:, 0] == 7).astype(np.float32)
    batch = Batch(
      prompts,
      prompt_mask,
      drawn.tokens,
      drawn.mask,
      drawn.log_probs,
      reward - reward.mean(),
    )
    state, metrics = update(state, shard(batch, 2))
    rewards.append(reward.mean())
  assert np.mean(rewards[:3]) < 0.3
  assert np.mean(rewards[-3:]) > 0.8
  assert all(np.isfinite(value) for value in metrics.values())
