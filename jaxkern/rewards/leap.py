"""LEAP's reward: a tournament inside the group (arXiv 2608.01804).

Symbols as in the paper: group size G, turn cap K, success turn k_i of rollout i
in {1..K}, infinity if it never passed.
"""

import numpy as np


def expand(failures: int, t_min: int, t_max: int) -> bool:
  """The DCP gate: does this prompt's group get debugging turns?

  Args:
    failures: N_fail, rollouts of the group that failed their first turn.
    t_min: fewer failures are an easy prompt.
    t_max: more failures are a hopeless one.

  Returns:
    t_min <= N_fail <= t_max. Only failed rollouts of an expanded group get
    further turns; a pruned group still contributes its first turns.
  """
  return t_min <= failures <= t_max


def advantages(success_turns: np.ndarray) -> np.ndarray:
  """Rank-based advantages from the group's pairwise tournament.

  A_i = (#{j: k_j > k_i} - #{j: k_j < k_i}) / (G - 1): an earlier success beats
  a later one, any success beats failure, ties count nothing. The sum is zero
  and no further normalisation is needed; with two classes this is RLOO on a
  reward of 0 or 1.

  Args:
    success_turns: [G], k_i with failure as infinity. Alone, A = 0.

  Returns:
    float32 [G] in [-1, 1].

  Raises:
    ValueError: an empty group, or turns below 1.
  """
  turns = np.asarray(success_turns, np.float64)
  if turns.ndim != 1 or not len(turns) or not (turns >= 1).all():
    raise ValueError(
      "success_turns: expected at least one of 1, 2, ... or infinity, got "
      f"{turns.tolist()}"
    )
  mine, others = turns[:, None], turns[None, :]
  worse = (others > mine).sum(axis=1)
  better = (others < mine).sum(axis=1)
  return ((worse - better) / max(len(turns) - 1, 1)).astype(np.float32)


def credit(advantage: float, turns: int, gamma: float) -> np.ndarray:
  """Spreads a rollout's advantage over the turns it took.

  Positive: the last turn, k, is the one that passed, and turn t <= k gets
  gamma^(k-t) A. Negative: every turn gets A.

  Args:
    advantage: A_i.
    turns: turns taken, k_i for a success.
    gamma: in [0, 1]; 0 credits the winning turn alone.

  Returns:
    float32 [turns].
  """
  if advantage < 0:
    return np.full(turns, advantage, np.float32)
  before_last = np.arange(turns - 1, -1, -1, dtype=np.float64)
  return (gamma**before_last * advantage).astype(np.float32)
