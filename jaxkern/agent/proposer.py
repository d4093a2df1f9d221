"""Who proposes kernels: the seam between the search and models."""

import difflib
import hashlib
import random
from collections.abc import Callable, Set
from typing import NamedTuple, Protocol

from jaxkern.agent.case import Case
from jaxkern.agent.context import Item, Prompt, Window
from jaxkern.agent.retrieval import Found
from jaxkern.agent.subject import Subject

# What can be wrong with a proposer itself: statuses beside the evaluator's.
FAULTS = (
  "malformed_answer",
  "truncated_answer",
  "rate_limited",
  "server_error",
  "answer_timeout",
  "connection_lost",
  "context_too_small",
)


class Wish(NamedTuple):
  """What a proposer is asked for.

  Attributes:
    subject: what is to be faster.
    device: 'cpu' or 'cuda'.
    root: the case of the kernel that the search began with; None if none.
    parent: the case to start from; None to draft.
    found: cases of the graph, the most helpful first.
    prompt: what a model is shown; None for a proposer without a window.
    tried: digests of sources that have been tried on this task and device.
    count: of proposals.
    rng: all randomness.
    recall: what the graph knows in answer to words, for a model that has to
      ask; None where it need not.
  """

  subject: Subject
  device: str
  root: Case | None
  parent: Case | None
  found: list[Found]
  prompt: Prompt | None
  tried: Set[str]
  count: int
  rng: random.Random
  recall: Callable[[str], str] | None = None


class Proposal(NamedTuple):
  """A kernel, or what kept it from being one.

  Attributes:
    source: the kernel; '' with a fault.
    prev: id of the case it started from.
    strategy, thought: as a Case's.
    tokens_in, tokens_out, seconds: what it cost.
    fault: of FAULTS; '' for none.
    said: what is to be remembered of the fault.
  """

  source: str
  prev: str = ""
  strategy: str = ""
  thought: str = ""
  tokens_in: int = 0
  tokens_out: int = 0
  seconds: float = 0.0
  fault: str = ""
  said: str = ""


class Proposer(Protocol):
  """Something that writes kernels.

  Attributes:
    name: for the graph.
    window: what it can see; None if it reads cases and no prompt.
    system: the text before every prompt.
  """

  name: str
  window: Window | None
  system: str

  def count(self, text: str) -> int:
    """Tokens of a text, as the proposer itself counts them."""

  def hot(
    self, subject: Subject, device: str, parent: Case | None, last: Case | None
  ) -> list[Item]:
    """What a prompt to go on from `parent`, after the case `last`, must have.

    Not asked of a proposer without a window.
    """

  def propose(self, wish: Wish) -> list[Proposal]:
    """At most `wish.count` proposals; fewer, or none, if it has no more."""


def digest(source: str) -> str:
  """What tells sources apart, but not their layout."""
  return hashlib.sha256(" ".join(source.split()).encode()).hexdigest()[:16]


def difference(before: str, after: str) -> str:
  """A unified diff without names."""
  lines = difflib.unified_diff(
    before.splitlines(), after.splitlines(), "before", "after", lineterm="", n=1
  )
  return "\n".join(lines)
