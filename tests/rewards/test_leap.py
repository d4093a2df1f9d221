import numpy as np
import pytest

from jaxkern.rewards import leap

FAIL = np.inf


def rloo(rewards):
  """Reward minus the mean of the others': REINFORCE leave-one-out."""
  rewards = np.asarray(rewards, np.float64)
  others = (rewards.sum() - rewards) / (len(rewards) - 1)
  return rewards - others


def test_late_success_in_an_easy_group_is_punished():
  got = leap.advantages([1, 1, 1, 1, 1, 1, 2, FAIL])
  # Winners beat 2 of 7; turn 2 beats 1 and loses to 6; failure loses to all.
  np.testing.assert_allclose(got, [2 / 7] * 6 + [-5 / 7, -1], rtol=1e-6)


def test_late_success_in_a_hard_group_is_rewarded():
  got = leap.advantages([2, FAIL, 1, FAIL, 2, FAIL, FAIL, FAIL])
  fail = -3 / 7
  np.testing.assert_allclose(
    got, [4 / 7, fail, 1, fail, 4 / 7, fail, fail, fail], rtol=1e-6
  )


@pytest.mark.parametrize("turn", [1, 3, FAIL])
def test_equal_outcomes_teach_nothing(turn):
  np.testing.assert_array_equal(leap.advantages([turn] * 8), np.zeros(8))


def test_advantages_sum_to_zero_and_stay_within_one():
  rng = np.random.default_rng(0)
  for size in (2, 3, 8, 16):
    for _ in range(20):
      got = leap.advantages(rng.choice([1, 2, 3, FAIL], size))
      assert abs(got.sum()) < 1e-6
      assert np.abs(got).max() <= 1


@pytest.mark.parametrize("passes", range(9))
def test_two_classes_are_rloo_on_a_binary_reward(passes):
  turns = [1] * passes + [FAIL] * (8 - passes)
  expected = rloo([1] * passes + [0] * (8 - passes))
  np.testing.assert_allclose(leap.advantages(turns), expected, atol=1e-7)


@pytest.mark.parametrize("turn", [1, 2, FAIL])
def test_a_group_of_one_has_nobody_to_beat(turn):
  np.testing.assert_array_equal(leap.advantages([turn]), [0])


@pytest.mark.parametrize("turns", [[], [0, 1], [np.nan, 1], [[1, 2]]])
def test_a_group_without_a_tournament_is_an_error(turns):
  with pytest.raises(ValueError, match="success_turns: expected"):
    leap.advantages(turns)


def test_positive_advantage_is_discounted_towards_early_turns():
  np.testing.assert_allclose(leap.credit(0.8, 3, 0.5), [0.2, 0.4, 0.8])


def test_negative_advantage_reaches_every_turn_undiscounted():
  np.testing.assert_allclose(leap.credit(-0.8, 3, 0.5), [-0.8] * 3)


def test_gamma_zero_credits_the_winning_turn_alone():
  np.testing.assert_array_equal(leap.credit(1.0, 3, 0.0), [0, 0, 1])


def test_gate_includes_its_borders():
  decisions = [leap.expand(n, t_min=4, t_max=7) for n in range(9)]
  assert decisions == [False] * 4 + [True] * 4 + [False]
