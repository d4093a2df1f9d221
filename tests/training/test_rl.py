"""The loop against an evaluator that likes short kernels."""

from types import SimpleNamespace

import chex
import numpy as np
import pytest
import small_loop
from small_loop import OPTIONS, TOURNAMENT, evaluate

from jaxkern.learning import update as updates
from jaxkern.rewards import rules
from jaxkern.rollout.collect import Rollout, Turn
from jaxkern.training import rl
from jaxkern.training.checkpoint import Checkpoints
from jaxkern.training.metrics import Metrics, read


@pytest.fixture(scope="module")
def sampler():
  return small_loop.make_sampler()


def train(sampler, directory, steps):
  with Metrics(
    directory, resume={"rl": Checkpoints.latest(directory / "rl")}
  ) as metrics:
    return rl.train(
      sampler,
      ["relu", "tanh", "silu"],
      evaluate,
      directory / "rl",
      metrics,
      steps=steps,
      **OPTIONS,
    )


def test_a_resumed_run_takes_the_identical_next_step(sampler, tmp_path):
  whole = train(sampler, tmp_path / "whole", steps=3)
  train(sampler, tmp_path / "parts", steps=2)
  parts = train(sampler, tmp_path / "parts", steps=3)
  chex.assert_trees_all_equal(parts, whole)
  recorded = [
    [line["pass@1"] for line in read(tmp_path / name / "metrics.jsonl")]
    for name in ("whole", "parts")
  ]
  assert len(recorded[0]) == 3 and recorded[0] == recorded[1]


def test_training_changes_the_parameters(sampler, tmp_path):
  after = train(sampler, tmp_path, steps=1)
  with pytest.raises(AssertionError):
    chex.assert_trees_all_close(after, sampler.params)


def turn(status):
  return Turn([1], np.ones(2), np.ones(2), -np.ones(2), (), "", status)


def rollout(*statuses):
  turns = [
    turn(SimpleNamespace(status=s, cache_hit=s == "ok")) for s in statuses
  ]
  return Rollout("relu", tuple(turns))


def test_credit_follows_the_tournament_and_the_discount():
  # k = 1, 2, infinity: A = 1, 0, -1 over 2; the second teaches nothing.
  group = [
    rollout("ok"),
    rollout("timeout", "ok"),
    rollout("timeout", "timeout"),
  ]
  credits = [
    credit for _, credit in rl.credited_turns([group], TOURNAMENT, rules.passed)
  ]
  assert credits == [1.0, -1.0, -1.0]


def test_infra_errors_are_not_trained_on():
  group = [rollout("ok"), rollout("infra_error")]
  [(turn, credit)] = rl.credited_turns([group], TOURNAMENT, rules.passed)
  assert turn.result.status == "ok" and credit == 1.0


def test_summary_counts_groups_and_statuses():
  groups = [
    [rollout("ok"), rollout("ok")],
    [rollout("ok"), rollout("timeout", "ok")],
    [rollout("timeout"), rollout("timeout")],
  ]
  values = rl.summarise(groups, turns=2, t_min=1, t_max=1)
  assert values["pass@1"] == 0.5 and values["pass@2"] == pytest.approx(4 / 6)
  assert values["groups_easy"] == values["groups_hopeless"] == 1
  assert values["groups_expanded"] == 1
  assert values["status/timeout"] == 3 and values["status/ok"] == 4
  assert values["cache_hits"] == 4


def test_a_frozen_reference_is_where_reinforcement_began(sampler, tmp_path):
  options = OPTIONS | {
    "steps": 3,
    "reference": True,
    "learning_rate": 0.05,
    "loss": updates.reinforce(length=8, kl=0.1),
  }
  for steps in (2, 3):  # Also of a run that is resumed.
    with Metrics(
      tmp_path, resume={"rl": Checkpoints.latest(tmp_path / "rl")}
    ) as metrics:
      rl.train(
        sampler,
        ["relu", "tanh", "silu"],
        evaluate,
        tmp_path / "rl",
        metrics,
        **options | {"steps": steps},
      )
  kl = [line["reference_kl"] for line in read(tmp_path / "metrics.jsonl")]
  assert abs(kl[0]) < 1e-6 < kl[1] and kl[2] > 1e-6
