"""The proposer that needs no model: moves on the text, chosen by experience.

A candidate is a chain of moves applied to the kernel that the search began with
(`edits.moves`). New chains come from what the graph shows of like tasks (their
chains as they are), and from the parent's chain with a move more, less, or with
another number. Each is worth what its moves have brought so far, weighted by
how near the case is; what nobody has tried is worth a little, so that it is
tried. Without experience all are alike and the choice is random.
"""

import math
from collections.abc import Sequence

from jaxkern.agent.case import Case
from jaxkern.agent.context import Item
from jaxkern.agent.edits import moves, repair
from jaxkern.agent.proposer import Proposal, Wish, digest

_WEIGHTS = {"task": 4.0, "family": 2.0, "meaning": 1.0, "words": 0.5}
_FOREIGN = 0.25  # a case of another device; and of another scope
_CURIOSITY = 0.15  # log-gain that an untried move may have
_WARMTH = 0.05  # of the choice among those of similar worth
_FAILED = -1.0  # log-gain that a failure counts as
_ORDER = {name: k for k, name in enumerate(moves.MOVES)}


class Builtin:
  """See the module."""

  name = "builtin"
  window = None
  system = ""

  def count(self, text: str) -> int:
    """It reads no tokens."""
    return 0

  def hot(self, *arguments) -> list[Item]:
    """It reads cases, and no prompt."""
    return []

  def propose(self, wish: Wish) -> list[Proposal]:
    """Chains nobody has tried on this task, the most promising first."""
    if wish.root is None or not wish.root.source:
      return []
    worth = _Worth(wish)
    chains: dict[tuple[str, ...], Case] = {}
    for found in wish.found:
      if found.case.ok and found.case.speedup > 1:
        chains.setdefault(chain_of(found.case), wish.root)
    parent = wish.parent or wish.root
    for chain in _neighbours(chain_of(parent)):
      chains.setdefault(chain, parent)
    scored = sorted(
      chains,
      key=lambda c: -(worth.of(c) + _WARMTH * _gumbel(wish.rng)),
    )
    proposals, seen = self._repairs(wish, parent), set(wish.tried)
    for chain in scored:
      if len(proposals) >= wish.count:
        break
      source, done = moves.applied(wish.root.source, chain)
      if not done or digest(source) in seen:
        continue
      seen.add(digest(source))
      added = [s for s in done if s not in chain_of(chains[chain])]
      why = "; ".join(dict.fromkeys(map(moves.thought, added or done[-1:])))
      proposals.append(Proposal(source, chains[chain].id, ", ".join(done), why))
    return proposals[: wish.count]

  def _repairs(self, wish: Wish, parent: Case) -> list[Proposal]:
    """What may mend a parent that failed."""
    if parent.ok:
      return []
    made = []
    for name, source in repair.repairs(
      parent.source, parent.status, parent.feedback
    ):
      if digest(source) not in wish.tried:
        made.append(
          Proposal(source, parent.id, f"repair:{name}", repair.THOUGHTS[name])
        )
    return made


class _Worth:
  """Expected log-gain of chains, from the cases that were found."""

  def __init__(self, wish: Wish):
    self._sums: dict[str, float] = {}
    self._weights: dict[str, float] = {}
    self._whole: dict[tuple[str, ...], tuple[float, float]] = {}
    for found in wish.found:
      case = found.case
      chain = chain_of(case)
      weight = _WEIGHTS.get(found.scope, _FOREIGN) * case.confidence
      if case.device != wish.device:
        weight *= _FOREIGN
      gain = math.log(max(case.speedup, 1e-2)) if case.ok else _FAILED
      total, count = self._whole.get(chain, (0.0, 0.0))
      self._whole[chain] = (total + weight * gain, count + weight)
      for step in chain:
        share = gain / len(chain)
        for name, part in ((step, 1.0), (step.partition(":")[0], 0.5)):
          self._sums[name] = self._sums.get(name, 0.0) + part * weight * share
          self._weights[name] = self._weights.get(name, 0.0) + part * weight

  def of(self, chain: Sequence[str]) -> float:
    """Of a chain that was seen: its mean; else the sum of its moves'."""
    guess = sum(map(self._step, chain))
    total, weight = self._whole.get(tuple(chain), (0.0, 0.0))
    return (total + guess) / (weight + 1.0)

  def _step(self, step: str) -> float:
    """A move's mean log-gain, drawn to curiosity while little is known."""
    for name in (step, step.partition(":")[0]):
      if name in self._weights:
        return (self._sums[name] + _CURIOSITY) / (self._weights[name] + 1.0)
    return _CURIOSITY


def chain_of(case: Case) -> tuple[str, ...]:
  """The moves of a case of this proposer; () of another's."""
  try:
    steps = [s.strip() for s in case.strategy.split(",") if s.strip()]
    for step in steps:
      moves.parts(step)
  except ValueError:
    return ()
  return tuple(steps)


def _neighbours(chain: tuple[str, ...]) -> list[tuple[str, ...]]:
  """The chain with one move more, another number, or one move less."""
  made = []
  for step in moves.steps():
    name = step.partition(":")[0]
    rest = [s for s in chain if s.partition(":")[0] != name]
    made.append(_sorted([*rest, step]))
  for step in chain:
    made.append(tuple(s for s in chain if s != step))
  return [c for c in dict.fromkeys(made) if c and c != chain]


def _sorted(steps: Sequence[str]) -> tuple[str, ...]:
  return tuple(sorted(steps, key=lambda s: _ORDER[s.partition(":")[0]]))


def _gumbel(rng) -> float:
  return -math.log(-math.log(min(max(rng.random(), 1e-12), 1 - 1e-12)))
