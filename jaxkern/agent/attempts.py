"""From a proposal and its verdict to a case; and two kernels timed together."""

import math
import statistics
from collections.abc import Mapping

from jaxkern.agent import limits
from jaxkern.agent.case import Case, confidence
from jaxkern.agent.proposer import Proposal, difference
from jaxkern.agent.subject import Subject
from jaxkern.evaluator import Evaluator, Request, Result


def case_of(
  proposal: Proposal,
  result: Result | None,
  subject: Subject,
  *,
  before: str,
  limits_known: Mapping,
  device: str,
  session: str,
  step: int,
  proposer: str,
  provenance: Mapping,
) -> Case:
  """The case of an attempt, to be appended.

  Args:
    proposal: what was proposed.
    result: its verdict; None for a proposer's fault.
    subject: what it was for.
    before: the source that it started from.
    limits_known: of the device, as `limits.measure` gives them.
    device, session, step, proposer, provenance: as a Case's.
  """
  case = Case(
    task=subject.name,
    family=subject.family,
    level=subject.level,
    dtype=subject.dtype,
    shapes=subject.shapes,
    device=device,
    prev=proposal.prev,
    session=session,
    step=step,
    proposer=proposer,
    strategy=proposal.strategy,
    thought=proposal.thought,
    source=proposal.source,
    diff=difference(before, proposal.source) if proposal.source else "",
    status=proposal.fault,
    feedback=proposal.said,
    tokens_in=proposal.tokens_in,
    tokens_out=proposal.tokens_out,
    seconds=proposal.seconds,
    confidence=confidence("", 0),
    provenance=provenance,
  )
  return (
    case if result is None else _judged(case, result, subject, limits_known)
  )


def _judged(case: Case, result: Result, subject: Subject, known) -> Case:
  """The case with its verdict."""
  naive = case.source == subject.start  # 1 by definition, not by the clock.
  return case._replace(
    hardware=result.device,
    status=result.status,
    feedback="\n".join(filter(None, (result.log, result.diagnosis))),
    times_us=tuple(result.times_us),
    speedup=1.0 if naive and result.status == "ok" else speedup_of(result),
    confidence=confidence(result.status, len(result.times_us)),
    seconds=case.seconds + result.compile_s + result.run_s,
    facts=limits.use(result, subject, known),
  )


def speedup_of(result: Result) -> float:
  """Over the baseline; 1 for a right kernel that has none to compare with."""
  if result.status != "ok":
    return 0.0
  return result.speedup or 1.0


def timed_together(
  evaluator: Evaluator,
  subject: Subject,
  sources: tuple[str, str],
  repetitions: int,
  turns: int,
) -> tuple[float, float]:
  """Speedups of two kernels, timed in turns, each first as often as the other.

  The medians of the turns; 0 for a kernel that failed in any of them.
  """
  seen: tuple[list[float], list[float]] = ([], [])
  for turn in range(turns):
    order = (0, 1) if turn % 2 == 0 else (1, 0)
    results = evaluator.evaluate(
      [Request(subject.problem, sources[k], repetitions) for k in order]
    )
    for k, result in zip(order, results, strict=True):
      if result.status != "infra_error":  # Says nothing of the kernel.
        seen[k].append(speedup_of(result))
  return tuple(_middle(values) for values in seen)


def _middle(values: list[float]) -> float:
  if min(values, default=0.0) <= 0:
    return 0.0
  return math.exp(statistics.median(map(math.log, values)))
