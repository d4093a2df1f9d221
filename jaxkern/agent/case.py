"""A case: one attempt at a kernel and what became of it (KOPE, 2608.25570).

Letters: a absolute speedup, r relative gain, d graph score, c confidence.
"""

import secrets
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

EFFECTIVE, PARTIAL, INEFFECTIVE = 1.05, 1.0, 0.85  # thresholds of r
LABELS = ("effective", "partial", "ineffective", "negative")
# How much of d(v) is its own gain, and how much a successor's is worth of it.
OWN, INHERITED = 0.5, 0.5 * 0.7
# Confidence: correct and timed repeatedly, timed once, failed.
REPEATED, SINGLE, FAILED = 1.0, 0.5, 0.2


class Case(NamedTuple):
  """One attempt. Everything but `id` and `created` says how it went.

  Attributes:
    task, family, level, dtype: what the kernel was for.
    shapes: the timed sizes, e.g. 'rows=61 cols=130'.
    device: 'cpu' or 'cuda'; times of the two never mix.
    hardware: the Result's own name of it.
    prev: id of the case whose source it started from; '' for a root.
    session, step: which search made it, and when in it.
    proposer: who wrote it.
    strategy: short name of the move, e.g. 'lanes:16'.
    thought: why, in words.
    diff: from the predecessor's source (or the start) to `source`.
    source: the kernel.
    status, feedback: the evaluator's, or a proposer's own fault.
    times_us: raw samples.
    speedup: a_v over the task's baseline; 0 if it failed or was not timed.
    gain: r_v over the predecessor; see `relative_gain`.
    label: of the gain; correctness is a field of its own, `status`.
    confidence: c_v.
    tokens_in, tokens_out, seconds: what it cost.
    facts: what the compiler and the clock say of its use of the device.
    provenance: versions and settings, for who wants to repeat it.
    created: seconds since 1970.
    id: unique everywhere, so that graphs can be merged.
  """

  task: str
  family: str = ""
  level: int = 0
  dtype: str = ""
  shapes: str = ""
  device: str = "cpu"
  hardware: str = ""
  prev: str = ""
  session: str = ""
  step: int = 0
  proposer: str = ""
  strategy: str = ""
  thought: str = ""
  diff: str = ""
  source: str = ""
  status: str = ""
  feedback: str = ""
  times_us: Sequence[float] = ()
  speedup: float = 0.0
  gain: float = 1.0
  label: str = "partial"
  confidence: float = SINGLE
  tokens_in: int = 0
  tokens_out: int = 0
  seconds: float = 0.0
  facts: Mapping = {}
  provenance: Mapping = {}
  created: float = 0.0
  id: str = ""

  @property
  def ok(self) -> bool:
    """Whether the kernel is right: only then it may become an incumbent."""
    return self.status == "ok"


class Entry(NamedTuple):
  """A line of the journal: what a session thought, in words.

  Attributes:
    session: whose.
    kind: e.g. 'started', 'promoted', 'learnt', 'ended'.
    text: the words.
    case: id of the case it is about; '' for none.
    created, id: as a Case's.
  """

  session: str
  kind: str
  text: str
  case: str = ""
  created: float = 0.0
  id: str = ""


def relative_gain(speedup: float, before: float | None) -> float:
  """r_v = a_v / a_prev(v); 1 for a root or a predecessor that is not positive.

  A failed case has a_v = 0, so r_v = 0 after a predecessor that worked, too.
  """
  return speedup / before if before is not None and before > 0 else 1.0


def label(gain: float) -> str:
  """The word for a gain."""
  for bound, word in zip(
    (EFFECTIVE, PARTIAL, INEFFECTIVE), LABELS, strict=False
  ):
    if gain >= bound:
      return word
  return LABELS[-1]


def score(gain: float, successors: Sequence[float]) -> float:
  """d(v) = 0.5 r_v + 0.5 * 0.7 sum_u d(u); a case without successors: r_v."""
  return OWN * gain + INHERITED * sum(successors) if successors else gain


def confidence(status: str, samples: int) -> float:
  """c_v from how it was seen."""
  if status != "ok":
    return FAILED
  return REPEATED if samples >= 6 else SINGLE


def stamped(record):
  """A Case or Entry with an id and a time, if it has none.

  Ids begin with the time: an index of a million random ones would have every
  insertion touch another page of it.
  """
  created = record.created or time.time()
  made = f"{int(created * 1000):011x}{secrets.token_hex(5)}"
  return record._replace(id=record.id or made, created=created)


def judged(case: Case, before: float | None) -> Case:
  """The case with the gain and label that follow from its speedup."""
  gain = relative_gain(case.speedup if case.ok else 0.0, before)
  if not case.ok and before is None:
    gain = 0.0  # A root that failed teaches nothing worth repeating.
  return case._replace(gain=gain, label=label(gain))
