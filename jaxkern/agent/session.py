"""`optimize` as one function: from a subject to a directory of results.

The directory holds best.cu, best.diff, report.html and summary.json. The graph
is wherever the caller wants it: best in one place for all that one optimises.
"""

import json
import os
import pathlib
import sys
import time
from collections.abc import Callable

from jaxkern.agent import embedding, limits, page, search
from jaxkern.agent.case import Entry
from jaxkern.agent.graph import Graph
from jaxkern.agent.proposer import Proposer, difference
from jaxkern.agent.settings import Budget, Progress, Settings
from jaxkern.agent.subject import Subject
from jaxkern.evaluator import Evaluator


def run(
  subject: Subject,
  proposer: Proposer,
  graph: Graph,
  workdir: str | os.PathLike,
  settings: Settings,
  budget: Budget,
  *,
  semantic: bool = True,
  say: Callable[[str], None] = print,
) -> dict:
  """Searches, or goes on, and writes the results; returns the summary.

  Args:
    subject: what to make faster.
    proposer: who writes kernels.
    graph: experience.
    workdir: for the results; made if missing.
    settings: how to search.
    budget: how long.
    semantic: whether an installed embedder is used.
    say: for lines to a person.
  """
  workdir = pathlib.Path(workdir)
  workdir.mkdir(parents=True, exist_ok=True)
  embedder = embedding.find() if semantic and settings.remember else None
  if settings.remember and embedder is None:
    say("experience is found by filters and words; no embedder for meaning")
  display = Display(budget, settings.session, graph)
  with Evaluator(settings.device) as evaluator:
    say(evaluator.describe())
    known = limits.measure(evaluator, graph, settings.device)
    progress = search.optimise(
      subject,
      proposer,
      evaluator,
      graph,
      settings,
      budget,
      display,
      embedder,
      known,
    )
  display.close()
  return _results(subject, graph, workdir, settings, progress)


def _results(subject, graph, workdir, settings, progress: Progress) -> dict:
  """Writes what a person looks at."""
  best = progress.best
  source = best.source if best else ""
  diff = difference(subject.start, source)
  (workdir / "best.cu").write_text(source)
  (workdir / "best.diff").write_text(diff + "\n")
  summary = {
    "task": subject.name,
    "device": settings.device,
    "session": settings.session,
    "speedup": progress.speedup,
    "strategy": best.strategy if best else "",
    "evaluations": progress.evaluations,
    "retimings": progress.retimings,
    "statuses": dict(progress.statuses),
    "tokens": progress.tokens,
    "seconds": progress.seconds,
    "stopped": progress.stopped,
    "facts": dict(best.facts) if best else {},
    "learnt": [
      e.text for e in graph.journal(settings.session) if e.kind == "learnt"
    ],
  }
  (workdir / "summary.json").write_text(json.dumps(summary, indent=1) + "\n")
  page.search_page(
    workdir / "report.html",
    graph,
    settings.session,
    {
      "title": f"{subject.name} on {settings.device}",
      "speedup": progress.speedup,
      "stopped": progress.stopped,
      "seconds": progress.seconds,
      "tokens": progress.tokens,
      "best": source,
      "diff": diff,
    },
  )
  return summary


class Display:
  """A line that changes on a terminal; a line per better kernel in a file."""

  def __init__(self, budget: Budget, session: str, graph: Graph):
    """Watches a search with that budget."""
    self._budget, self._session, self._graph = budget, session, graph
    self._live = sys.stderr.isatty()
    self._said = -1.0
    self._began = time.monotonic()

  def __call__(self, progress: Progress) -> None:
    """Shows where a search stands."""
    text = line(progress, self._budget, time.monotonic() - self._began)
    if self._live:
      print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
    elif progress.speedup > self._said:
      print(text, file=sys.stderr, flush=True)
      self._said = progress.speedup

  def close(self) -> None:
    """Ends the line."""
    if self._live:
      print(file=sys.stderr)


def line(progress: Progress, budget: Budget, seconds: float) -> str:
  """Best so far, tries by status, tokens, what is left."""
  done, most = progress.evaluations, budget.evaluations
  left = []
  if most:
    left.append(f"{done}/{most} evaluations")
    if 0 < done < most and not budget.seconds:
      left.append(f"{seconds / done * (most - done):.0f} s left")
  if budget.seconds:
    left.append(f"{max(0.0, budget.seconds - seconds):.0f} s left")
  statuses = " ".join(f"{s} {n}" for s, n in progress.statuses.most_common())
  what = progress.best.strategy if progress.best else "nothing right yet"
  tokens = f"{progress.tokens} tokens" if progress.tokens else ""
  parts = [f"{progress.speedup:.2f}x ({what})", statuses, tokens, *left]
  return " | ".join(filter(None, parts))


def check_session(graph: Graph, session: str, what: dict) -> None:
  """Keeps what a session is of, and refuses to go on with something else.

  Raises:
    ValueError: the session was of another task, kernel or device.
  """
  text = json.dumps(what, sort_keys=True)
  for entry in graph.journal(session):
    if entry.kind == "settings":
      if entry.text != text:
        raise ValueError(
          f"session: {session!r} is of {entry.text}, got {text}; choose another"
        )
      return
  graph.note(Entry(session, "settings", text))
