"""Advantage rules: a group's verdicts in, an advantage for every turn out.

A rule sees one group, the attempts at one task, and gives each attempt one
advantage per turn it took. Turns of advantage 0 are not trained on. Rules are
pure and finite on every group: all passed, all failed, one attempt, none.

Symbols: G attempts, attempt i takes K_i turns with scores s_{i,1..K_i}.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxkern import config
from jaxkern.rewards import leap


class Attempt(NamedTuple):
  """A rollout as a rule sees it.

  Attributes:
    scores: float [K_i], of each turn; see SCORES.
    passed: whether the last turn did; all before it failed.
  """

  scores: np.ndarray
  passed: bool

  @property
  def success_turn(self) -> float:
    """k_i, counted from 1; infinity if it never passed."""
    return len(self.scores) if self.passed else math.inf


_COVERAGE = 1.0
Rule = Callable[[Sequence[Attempt]], list[np.ndarray]]
Score = Callable[[Any], float]


def tournament(group: Sequence[Attempt], *, gamma: float) -> list[np.ndarray]:
  """LEAP (arXiv 2608.01804): the rank in the group, credited over the turns."""
  if not group:
    return []
  ranks = leap.advantages(np.array([a.success_turn for a in group]))
  return [
    leap.credit(float(rank), len(attempt.scores), gamma)
    for rank, attempt in zip(ranks, group, strict=True)
  ]


def grpo(group: Sequence[Attempt]) -> list[np.ndarray]:
  """GRPO on the best score of an attempt; every turn gets its advantage.

  With one turn the ordinary one; with several a late success is paid like an
  early one.
  """
  advantages = standardised([a.scores.max() for a in group])
  return [
    np.full(len(attempt.scores), advantage, np.float32)
    for attempt, advantage in zip(group, advantages, strict=True)
  ]


def trloo(group: Sequence[Attempt], *, gamma: float) -> list[np.ndarray]:
  """Dr. Kernel (arXiv 2602.05885): leave-one-out among returns of one turn.

  A_{i,t} = n / (n - 1) (G_{i,t} - mean_t), over the n attempts that took turn
  t; alone, A = G.
  """

  def leave_one_out(values: np.ndarray) -> np.ndarray:
    """Each value minus the mean of the others."""
    n = len(values)
    return (values - values.mean()) * n / (n - 1) if n > 1 else values

  return _by_turn([returns(a.scores, gamma) for a in group], leave_one_out)


def kevin(group: Sequence[Attempt], *, gamma: float) -> list[np.ndarray]:
  """Kevin (arXiv 2507.11948): every turn a sample, rewarded with its return.

  Returns are standardised over all turns of all attempts.
  """
  if not group:
    return []
  values = [returns(a.scores, gamma) for a in group]
  flat = standardised(np.concatenate(values))
  return np.split(flat, np.cumsum([len(v) for v in values])[:-1])


def musacoder(group: Sequence[Attempt], *, alpha: float) -> list[np.ndarray]:
  """MusaCoder's PrimeEcho (arXiv 2606.04847): what a first turn leads to.

  R = alpha s_1 + (1 - alpha) max_k s_k, standardised in the group; only first
  turns are trained on.
  """
  anchored = [alpha * a.scores[0] + (1 - alpha) * a.scores.max() for a in group]
  return [
    np.array([advantage] + [0.0] * (len(attempt.scores) - 1), np.float32)
    for attempt, advantage in zip(group, standardised(anchored), strict=True)
  ]


def murphy_max(group: Sequence[Attempt]) -> list[np.ndarray]:
  """Murphy's MaRS (arXiv 2511.07833): a turn is worth the best it leads to.

  V_t = max(s_t, V_{t+1}), standardised among the attempts that took turn t.
  Murphy's tree of continuations is a chain here: one of every failure.
  """
  best = [np.maximum.accumulate(a.scores[::-1])[::-1] for a in group]
  return _by_turn(best, standardised)


def murphy_mean(group: Sequence[Attempt], *, gamma: float) -> list[np.ndarray]:
  """Murphy's MeRS: a turn is worth its score and what follows on average.

  V_t = s_t + gamma mean_children(V), of which a chain has one; standardised
  among the attempts that took turn t.
  """
  return _by_turn([returns(a.scores, gamma) for a in group], standardised)


def returns(scores: np.ndarray, gamma: float) -> np.ndarray:
  """G_t = s_t + gamma G_{t+1}, float64 [K]."""
  total, sums = 0.0, []
  for score in np.asarray(scores, np.float64)[::-1]:
    total = score + gamma * total
    sums.append(total)
  return np.array(sums[::-1])


def standardised(values: Sequence[float] | np.ndarray) -> np.ndarray:
  """(x - mean) / population standard deviation; 0 where all are equal."""
  values = np.asarray(values, np.float64)
  if not values.size or np.ptp(values) == 0:
    return np.zeros(values.shape, np.float32)
  return ((values - values.mean()) / values.std()).astype(np.float32)


def _by_turn(
  values: Sequence[np.ndarray], baseline: Callable[[np.ndarray], np.ndarray]
) -> list[np.ndarray]:
  """`baseline` applied among the attempts that took turn t, for every t."""
  made = [np.zeros(len(v), np.float32) for v in values]
  for t in range(max(map(len, values), default=0)):
    there = [i for i, v in enumerate(values) if len(v) > t]
    advantages = baseline(np.array([values[i][t] for i in there]))
    for i, advantage in zip(there, advantages, strict=True):
      made[i][t] = advantage
  return made


RULES: dict[str, Callable[..., list[np.ndarray]]] = {
  "tournament": tournament,
  "grpo": grpo,
  "trloo": trloo,
  "kevin": kevin,
  "musacoder": musacoder,
  "murphy_max": murphy_max,
  "murphy_mean": murphy_mean,
}


def make(name: str, **options: Any) -> Rule:
  """The rule of that name; see `config.choose`."""
  return config.choose("rule", RULES, name, **options)


def passed(result: Any) -> float:
  """1 for a kernel that is right, 0 for any other."""
  return float(result.status == "ok")


def kevin_score(result: Any) -> float:
  """0.3 + speedup for a kernel that is right (Kevin)."""
  return 0.3 + result.speedup if result.status == "ok" else 0.0


def dr_kernel_score(result: Any) -> float:
  """0.5 + 0.5 min(speedup, 3) + 0.5 for a kernel that is right (Dr. Kernel).

  The last is 0.5 times the share of GPU time that a profile ascribes to the
  candidate's own kernels. It is 1 of every kernel that is right here: what
  launches none of its own, or has a library do the work, is `cheating`. For the
  same reason no turn is left out by that share.
  """
  if result.status != "ok":
    return 0.0
  return 0.5 + 0.5 * min(result.speedup, 3.0) + 0.5 * _COVERAGE


SCORES: dict[str, Score] = {
  "passed": passed,
  "kevin": kevin_score,
  "dr_kernel": dr_kernel_score,
}


def score(name: str) -> Score:
  """The score of that name: a result of the evaluator to a number."""
  return config.choose("score", SCORES, name)
