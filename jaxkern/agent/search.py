"""KOPE's loop: propose, compile, check, time, record, and again.

Correctness stands strictly before speed: only what is right may become the
incumbent, and only after it has been timed once more beside the one that it
replaces. Everything is recorded, so a search that was stopped goes on from its
graph: which cases it has, is its state.
"""

import random
import threading
import time
import types
from collections.abc import Callable, Mapping

from jaxkern.agent import arms, attempts, context
from jaxkern.agent.case import Case, Entry
from jaxkern.agent.graph import Graph
from jaxkern.agent.proposer import (
  FAULTS,
  Proposal,
  Proposer,
  Wish,
  digest,
)
from jaxkern.agent.retrieval import Embed, Found, Query
from jaxkern.agent.settings import Budget, Progress, Settings
from jaxkern.agent.subject import Subject
from jaxkern.evaluator import Evaluator, Request, Result

_ELITES = 4
_PATIENCE = 3  # rounds without a better kernel before another start
_RETIMED = 3  # times that both of two kernels are timed again
_FAULTS_IN_A_ROW = 8


def optimise(
  subject: Subject,
  proposer: Proposer,
  evaluator: Evaluator,
  graph: Graph,
  settings: Settings,
  budget: Budget,
  show: Callable[[Progress], None] = lambda progress: None,
  embedder: Embed | None = None,
  device_limits: Mapping = types.MappingProxyType({}),
) -> Progress:
  """Searches until the budget is used up or the proposer has no more.

  Args:
    subject: what is to be faster.
    proposer: who writes kernels.
    evaluator: of settings.device.
    graph: experience, read and written.
    settings: how.
    budget: how long.
    show: called after every round.
    embedder: for the semantic part of retrieval.
    device_limits: as `limits.measure` gives them.

  Raises:
    ValueError: the hot part of a prompt does not fit the proposer's window, or
      there is nothing to start from and the proposer cannot draft.
  """
  search = _Search(subject, proposer, evaluator, graph, settings)
  search.embedder, search.limits = embedder, device_limits
  search.begin()
  began = time.monotonic()
  while True:
    search.progress.seconds = time.monotonic() - began
    search.progress.stopped = search.why_stop(budget)
    show(search.progress)
    if search.progress.stopped:
      search.end()
      return search.progress
    search.round(budget)


class _Search:
  """A search under way; all of its state follows from the graph."""

  def __init__(self, subject, proposer, evaluator, graph, settings):
    self.subject: Subject = subject
    self.proposer: Proposer = proposer
    self.evaluator: Evaluator = evaluator
    self.graph: Graph = graph
    self.settings: Settings = settings
    self.embedder: Embed | None = None
    self.limits: Mapping = {}
    self.progress = Progress()
    self.cases: list[Case] = []
    self.root: Case | None = None
    self.exhausted = False
    self.idle = 0  # rounds since the last promotion
    self.promoted: dict[str, float] = {}
    self.asking = threading.Lock()

  def begin(self) -> None:
    """Takes up what the graph has of this session, or records the start."""
    mine = self.settings.session
    self.graph.describe(
      self.subject.name, self.subject.family, self.subject.summary
    )
    for entry in self.graph.journal(mine):
      if entry.kind == "promoted":
        self.promoted[entry.case] = float(entry.text.split("x", 1)[0])
    for case in self.graph.select(
      "WHERE session = ? AND task = ?", (mine, self.subject.name)
    ):
      self._count(case)
    if not self.cases:
      self.graph.note(Entry(mine, "started", f"{self.subject.name}"))
      if self.subject.start:
        start = Proposal(self.subject.start, "", "start", "where it begins")
        self._judge([start])
    best = [c for c in self.cases if c.id in self.promoted]
    if best:
      self.progress.best = best[-1]
      self.progress.speedup = self.promoted[best[-1].id]

  def why_stop(self, budget: Budget) -> str:
    """The reason; '' to go on."""
    p = self.progress
    if self.exhausted:
      return "the proposer has no more"
    if budget.evaluations and p.evaluations >= budget.evaluations:
      return f"{p.evaluations} evaluations"
    if budget.tokens and p.tokens >= budget.tokens:
      return f"{p.tokens} tokens"
    if budget.seconds and p.seconds >= budget.seconds:
      return f"{p.seconds:.0f} seconds"
    share = p.best.facts.get("roofline_share", 0) if p.best else 0
    if budget.roofline and share >= budget.roofline:
      return f"{100 * share:.0f} % of the device's {p.best.facts['bound']}"
    last = self.cases[-_FAULTS_IN_A_ROW:]
    if len(last) == _FAULTS_IN_A_ROW and all(c.status in FAULTS for c in last):
      return f"the proposer failed {len(last)} times in a row"
    return ""

  def round(self, budget: Budget) -> None:
    """Proposals for one parent, judged together and recorded."""
    count = self.settings.parallel
    if budget.evaluations:
      left = budget.evaluations - self.progress.evaluations
      count = max(1, min(count, left))
    wish = self._wish(count)
    proposals = self.proposer.propose(wish)
    self.exhausted = not proposals and not self._another_parent()
    made = self._judge(proposals)
    shown = (
      wish.prompt.cases if wish.prompt else [f.case.id for f in wish.found]
    )
    if self.settings.arm == "utility":
      stage = "refine" if self.progress.best else "draft"
      for case in made:
        if case.status not in FAULTS:
          arms.learn(self.graph, shown, stage, case.gain)
    self._promote(made)

  def end(self) -> None:
    """What was learnt, for the journal."""
    best = self.progress.best
    if best is not None and best is not self.root:
      line = self.graph.lineage(best.id)
      steps = " -> ".join(c.strategy for c in line)
      text = f"{self.progress.speedup:.3g}x by {steps}"
      self.graph.note(Entry(self.settings.session, "learnt", text, best.id))
    self.graph.note(
      Entry(self.settings.session, "ended", self.progress.stopped)
    )

  def _another_parent(self) -> bool:
    """Whether other elites are left to start from, as nothing came of one."""
    self.idle += 1
    return self.idle <= _PATIENCE + 2 * _ELITES

  def _parent(self, rng: random.Random) -> Case | None:
    """The incumbent mostly; after a while without luck another elite.

    While nothing works yet, the latest failure that has a kernel.
    """
    right = [c for c in self.cases if c.ok]
    if not right:
      failed = [c for c in self.cases if c.source]
      return failed[-1] if failed else None
    elites = sorted(right, key=lambda c: -c.speedup)[:_ELITES]
    if self.idle >= _PATIENCE and rng.random() < 0.7:
      return rng.choice([*elites, self.root or elites[0]])
    return self.progress.best or elites[0]

  def _wish(self, count: int) -> Wish:
    rng = random.Random(f"{self.settings.seed}:{len(self.cases)}:{self.idle}")
    parent = self._parent(rng)
    last = self.cases[-1] if self.cases else None
    found = self._found(last)
    packed = None
    if self.proposer.window is not None:
      system = self.proposer.count(self.proposer.system)
      packed = context.pack(
        self.proposer.hot(self.subject, self.settings.device, parent, last)
        + arms.items(found),
        self.proposer.window,
        system,
        self.proposer.count,
        self.settings.context_limit or None,
      )
      context.remember(
        self.graph,
        packed,
        self.settings.session,
        len(self.cases),
        self.settings.arm,
      )
    return Wish(
      self.subject,
      self.settings.device,
      self.root,
      parent,
      found,
      packed,
      self._tried(),
      count,
      rng,
      self._recall if self.settings.arm == "passive" else None,
    )

  def _query(self, text: str) -> Query:
    return Query(
      self.subject.name,
      self.subject.family,
      self.settings.device,
      text,
      self.settings.across,
    )

  def _found(self, last: Case | None) -> list[Found]:
    """What the arm shows; a search on its own sees its own cases only."""
    if not self.settings.remember:
      return [Found(c, "task", 1.0, 1.0) for c in self.cases]
    text = f"{self.subject.summary} {last.feedback if last else ''}"
    stage = "refine" if self.progress.best else "draft"
    return arms.select(
      self.graph, self.settings.arm, self._query(text), stage, self.embedder
    )

  def _recall(self, text: str) -> str:
    """The answer to a model that asks for experience (the passive arm)."""
    with self.asking:  # Requests at once may ask at once.
      found = arms.select(
        self.graph, "active", self._query(text), "refine", self.embedder
      )
    return "\n\n".join(arms.compact(f.case) for f in found[:6]) or "nothing"

  def _tried(self) -> set[str]:
    """Digests of the kernels that this task has seen on this device."""
    if not self.settings.remember:
      return {digest(c.source) for c in self.cases}
    rows = self.graph.database.execute(
      "SELECT source, session FROM cases WHERE task = ? AND device = ?"
      " AND (session = ? OR status != 'ok')",
      (self.subject.name, self.settings.device, self.settings.session),
    )
    # What another session found right may be tried again: times differ.
    return {digest(source) for source, _ in rows if source}

  def _judge(self, proposals: list[Proposal]) -> list[Case]:
    """Evaluates and records, in the order of the proposals."""
    runs = [p for p in proposals if not p.fault]
    results = iter(
      self.evaluator.evaluate(
        [
          Request(self.subject.problem, p.source, self.settings.repetitions)
          for p in runs
        ]
      )
    )
    made = []
    for proposal in proposals:
      result = None if proposal.fault else next(results)
      case = self.graph.append(self._case(proposal, result))
      self._count(case)
      made.append(case)
    return made

  def _case(self, proposal: Proposal, result: Result | None) -> Case:
    parent = next((c for c in self.cases if c.id == proposal.prev), None)
    return attempts.case_of(
      proposal,
      result,
      self.subject,
      before=parent.source if parent else self.subject.start,
      limits_known=self.limits,
      device=self.settings.device,
      session=self.settings.session,
      step=len(self.cases),
      proposer=self.proposer.name,
      provenance=self.settings.provenance,
    )

  def _count(self, case: Case) -> None:
    self.cases.append(case)
    p = self.progress
    p.statuses[case.status] += 1
    p.tokens += case.tokens_in + case.tokens_out
    p.evaluations += case.status not in FAULTS
    if case.strategy == "start" and self.root is None:
      self.root = case
      if case.ok:
        p.best, p.speedup = case, case.speedup or 1.0
        self.promoted.setdefault(case.id, p.speedup)
    p.curve.append((p.evaluations, p.speedup))

  def _promote(self, made: list[Case]) -> None:
    """The fastest right one replaces the incumbent, if it is faster again."""
    p = self.progress
    right = [c for c in made if c.ok and c is not p.best]
    challenger = max(right, key=lambda c: c.speedup, default=None)
    self.idle += 1
    if challenger is None:
      return
    if p.best is None:
      self._set_best(challenger, challenger.speedup, "the first that is right")
    elif challenger.speedup > p.speedup:
      ours, theirs = attempts.timed_together(
        self.evaluator,
        self.subject,
        (p.best.source, challenger.source),
        self.settings.repetitions,
        _RETIMED,
      )
      p.retimings += 2 * _RETIMED
      p.speedup = ours or p.speedup
      if theirs > ours:
        self._set_best(
          challenger, theirs, f"{ours:.4g}x before, timed together"
        )
    p.curve[-1] = (p.evaluations, p.speedup)

  def _set_best(self, case: Case, speedup: float, why: str) -> None:
    self.progress.best, self.progress.speedup, self.idle = case, speedup, 0
    self.promoted[case.id] = speedup
    self.graph.note(
      Entry(
        self.settings.session, "promoted", f"{speedup:.6g}x: {why}", case.id
      )
    )
