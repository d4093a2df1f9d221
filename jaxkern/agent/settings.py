"""How a search is to go, when it ends, and where it stands."""

import dataclasses
from collections import Counter
from typing import NamedTuple

from jaxkern.agent.case import Case


class Budget(NamedTuple):
  """When to stop; 0 for no limit.

  Attributes:
    evaluations: of proposed kernels, the start included.
    tokens: in and out.
    seconds: of this call.
    roofline: share of the device's limit that is good enough.
  """

  evaluations: int = 40
  tokens: int = 0
  seconds: float = 0.0
  roofline: float = 0.95


@dataclasses.dataclass
class Progress:
  """What a search has come to so far."""

  evaluations: int = 0
  retimings: int = 0
  tokens: int = 0
  seconds: float = 0.0
  statuses: Counter = dataclasses.field(default_factory=Counter)
  best: Case | None = None
  speedup: float = 0.0  # of the best; as timed last
  curve: list = dataclasses.field(default_factory=list)
  stopped: str = ""


@dataclasses.dataclass(frozen=True)
class Settings:
  """How to search.

  Attributes:
    session: name; a second call with it goes on where the first one ended.
    device: 'cpu' or 'cuda'.
    arm: of arms.ARMS.
    parallel: proposals at once.
    repetitions: timed launches of each kernel.
    across: whether experience of other devices is used.
    remember: whether what other sessions know counts; False for a search on
      its own.
    seed: of the randomness.
    context_limit: tokens of experience in a prompt; 0 for the window's shares.
    provenance: kept with every case.
  """

  session: str
  device: str = "cpu"
  arm: str = "active"
  parallel: int = 4
  repetitions: int = 30
  across: bool = True
  remember: bool = True
  seed: int = 0
  context_limit: int = 0
  provenance: dict = dataclasses.field(default_factory=dict)
