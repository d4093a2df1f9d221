"""Every rule by hand, on the same groups, and on degenerate ones."""

from types import SimpleNamespace

import numpy as np
import pytest

from jaxkern.rewards import rules
from jaxkern.rewards.rules import Attempt

OPTIONS = {
  "tournament": {"gamma": 0.5},
  "grpo": {},
  "trloo": {"gamma": 1.0},
  "kevin": {"gamma": 0.4},
  "musacoder": {"alpha": 0.75},
  "murphy_max": {},
  "murphy_mean": {"gamma": 0.9},
}


def attempt(*scores):
  return Attempt(np.array(scores, np.float64), scores[-1] > 0)


def expect(got, wanted):
  assert len(got) == len(wanted)
  for g, w in zip(got, wanted, strict=True):
    np.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-7)


def rule(name, **options):
  return rules.make(name, **{**OPTIONS[name], **options})


# Passes at turn 1, at turn 2, never.
GROUP = [attempt(1), attempt(0, 1), attempt(0, 0)]


def test_the_tournament_discounts_a_late_win_and_not_a_loss():
  # Of 4: turn 1 beats 3, turn 2 beats 2 and loses to 1, failures lose to 2.
  group = [*GROUP, attempt(0, 0)]
  expect(
    rule("tournament")(group),
    [[1], [1 / 6, 1 / 3], [-2 / 3, -2 / 3], [-2 / 3, -2 / 3]],
  )


@pytest.mark.parametrize(
  ("turns", "late"),
  [([1] * 6 + [2, None], -5 / 7), ([1, 2, 2] + [None] * 5, 4 / 7)],
)
def test_the_worked_groups_of_eight(turns, late):
  group = [attempt(*[0] * (k - 1), 1) if k else attempt(0, 0, 0) for k in turns]
  got = rule("tournament", gamma=1.0)(group)
  expect([got[turns.index(2)]], [[late, late]])
  if late > 0:
    expect([got[0]], [[1]])


def test_single_turn_grpo_standardises_the_rewards():
  # Mean 1/4, deviation sqrt(3)/4.
  group = [attempt(1), attempt(0), attempt(0), attempt(0)]
  expect(rule("grpo")(group), [[3**0.5], *[[-(3**-0.5)]] * 3])


def test_multi_turn_grpo_pays_a_late_success_like_an_early_one():
  # Outcomes 1, 1, 0: mean 2/3, deviation sqrt(2)/3.
  a, b = 0.5**0.5, -(2**0.5)
  expect(rule("grpo")(GROUP), [[a], [a, a], [b, b]])


def test_trloo_compares_returns_of_the_same_turn():
  # Turn 1: returns 1, 1, 0, minus the others' mean. Turn 2: 1, 0 of two.
  expect(rule("trloo")(GROUP), [[0.5], [0.5, 1], [-1, -1]])
  # Discounted by half: 1, 1/2, 0.
  expect(rule("trloo", gamma=0.5)(GROUP), [[0.75], [0, 1], [-0.75, -1]])


def test_trloo_alone_is_the_return_itself():
  # Only one attempt takes a second turn.
  expect(rule("trloo")([attempt(1), attempt(0, 1)]), [[0], [0, 1]])
  expect(rule("trloo")([attempt(0, 1)]), [[1, 1]])


def test_kevin_standardises_discounted_sums_over_all_turns():
  # Returns: 2.3 | 0.4 * 1.3, 1.3 | 0, 0.
  group = [attempt(2.3), attempt(0, 1.3), attempt(0, 0)]
  values = np.array([2.3, 0.52, 1.3, 0, 0])
  z = (values - values.mean()) / values.std()
  expect(rule("kevin")(group), [z[:1], z[1:3], z[3:]])


def test_musacoder_trains_first_turns_on_what_they_lead_to():
  # R = 1, 0.25, 0: mean 5/12, deviation sqrt(26)/12.
  expect(
    rule("musacoder")(GROUP),
    [[7 / 26**0.5], [-2 / 26**0.5, 0], [-5 / 26**0.5, 0]],
  )


def test_murphy_passes_back_the_maximum_or_the_discounted_mean():
  a, b = 0.5**0.5, -(2**0.5)
  expect(rule("murphy_max")(GROUP), [[a], [a, 1], [b, -1]])
  # Turn 1 is worth 1, 0.9, 0; turn 2 1 and 0.
  values = np.array([1, 0.9, 0])
  z = (values - values.mean()) / values.std()
  expect(rule("murphy_mean")(GROUP), [[z[0]], [z[1], 1], [z[2], -1]])


@pytest.mark.parametrize("name", ["tournament", "trloo"])
def test_one_turn_of_pass_or_fail_is_rloo(name):
  rewards = np.array([1, 0, 0, 1, 0, 0, 0, 1])
  others = (rewards.sum() - rewards) / 7
  got = rule(name)([attempt(r) for r in rewards])
  expect(got, [[r] for r in rewards - others])


@pytest.mark.parametrize("name", rules.RULES)
@pytest.mark.parametrize(
  "group",
  [
    [],
    [attempt(1)],
    [attempt(0)],
    [attempt(0, 0, 0)],
    [attempt(1)] * 8,
    [attempt(0)] * 8,
    [attempt(0, 0, 0)] * 8,
    [attempt(0, 0, 1)] * 8,
    [attempt(2.3), attempt(0, 2.3), attempt(0, 0, 2.3)],
  ],
)
def test_every_turn_of_a_degenerate_group_has_a_finite_advantage(name, group):
  got = rule(name)(group)
  assert [len(a) for a in got] == [len(a.scores) for a in group]
  assert all(np.isfinite(a).all() for a in got)


@pytest.mark.parametrize("name", sorted({*rules.RULES} - {"kevin"}))
@pytest.mark.parametrize("score", [0.0, 1.0])
def test_equal_first_turns_teach_nothing(name, score):
  expect(rule(name)([attempt(score)] * 8), [[0]] * 8)


@pytest.mark.parametrize("name", ["tournament", "grpo", "kevin", "murphy_max"])
def test_one_turn_advantages_sum_to_zero(name):
  rng = np.random.default_rng(0)
  for _ in range(20):
    got = rule(name)([attempt(s) for s in rng.choice([0.0, 0.5, 1.0], 8)])
    assert abs(np.sum(got)) < 1e-5


def result(status, speedup=2.0):
  return SimpleNamespace(status=status, speedup=speedup)


def test_scores_of_a_right_kernel():
  assert rules.score("passed")(result("ok")) == 1
  assert rules.score("kevin")(result("ok")) == 2.3
  assert rules.score("dr_kernel")(result("ok")) == 2.0
  assert rules.score("dr_kernel")(result("ok", 9.0)) == 2.5


@pytest.mark.parametrize("name", rules.SCORES)
@pytest.mark.parametrize("status", ["cheating", "timeout", "wrong_answer"])
def test_a_fast_kernel_that_is_not_right_scores_nothing(name, status):
  assert rules.score(name)(result(status, 100.0)) == 0


@pytest.mark.parametrize(
  ("name", "options", "said"),
  [
    ("grop", {}, "rule: expected one of .*, got grop"),
    ("grpo", {"gamma": 1.0}, r"rule grpo: expected the options \[\], got"),
    ("trloo", {}, r"rule trloo: expected the options \['gamma'\], got \[\]"),
  ],
)
def test_a_wrong_rule_is_said_at_once(name, options, said):
  with pytest.raises(ValueError, match=said):
    rules.make(name, **options)


def test_a_wrong_score_is_said():
  with pytest.raises(ValueError, match="score: expected one of"):
    rules.score("speed")
