"""Both loops on two devices that share the optimiser's state."""

import chex
import pytest
import small_loop

from jaxkern.data.corpus import Example
from jaxkern.learning import update as updates
from jaxkern.training import rl, sft
from jaxkern.training.checkpoint import Checkpoints
from jaxkern.training.metrics import Metrics


@pytest.fixture(scope="module")
def sampler():
  return small_loop.make_sampler()


def warm_start(sampler, directory, trained, shard_optimizer):
  """sft.train up to a step, begun or continued."""
  with Metrics(directory, resume={"sft": trained}) as metrics:
    return sft.train(
      sampler.policy,
      [Example("relu", "a" * n, None, "ok", "") for n in range(1, 7)],
      sampler.tokenizer,
      directory / "sft",
      metrics,
      seed=0,
      steps=trained,
      minibatches=2,
      rows=4,
      learning_rate=1e-2,
      clip_norm=0.1,
      weight_decay=0.1,
      repairs=0.0,
      prompt_lengths=(64,),
      longest=8,
      microbatch=2,
      shard_optimizer=shard_optimizer,
    )


def test_a_warm_start_continues_sharded_or_not(sampler, tmp_path, monkeypatch):
  used = []
  replicate = updates.replicate

  def watched(state, **options):
    state = replicate(state, **options)
    used.append(isinstance(state.opt_state, updates.Shards))
    return state

  monkeypatch.setattr(updates, "replicate", watched)
  plain = warm_start(sampler, tmp_path / "plain", 2, False)
  sharded = warm_start(sampler, tmp_path / "sharded", 2, True)
  chex.assert_trees_all_close(sharded, plain, atol=1e-5)
  first = [
    Checkpoints(tmp_path / name / "sft") for name in ("plain", "sharded")
  ]
  with first[0] as one, first[1] as other:
    chex.assert_trees_all_close(
      other.restore(None)[1], one.restore(None)[1], atol=1e-5
    )
  continued = [
    warm_start(sampler, tmp_path / "sharded", 3, False),
    warm_start(sampler, tmp_path / "plain", 3, True),
  ]
  chex.assert_trees_all_close(*continued, atol=1e-5)
  assert used == [False, True, False, True]


def test_a_step_of_reinforcement_is_the_same_sharded(sampler, tmp_path):
  def train(name, shard_optimizer):
    with Metrics(tmp_path / name, resume={}) as metrics:
      return rl.train(
        sampler,
        ["relu", "tanh", "silu"],
        small_loop.evaluate,
        tmp_path / name / "rl",
        metrics,
        steps=1,
        shard_optimizer=shard_optimizer,
        **small_loop.OPTIONS,
      )

  plain = train("plain", False)
  chex.assert_trees_all_close(train("sharded", True), plain, atol=1e-5)
  with pytest.raises(AssertionError):
    chex.assert_trees_all_close(plain, sampler.params, atol=1e-5)
