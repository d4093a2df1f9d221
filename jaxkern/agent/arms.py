"""Ways to choose what of the graph is shown: KOPE's, and those to compare with.

active      retrieved, ranked and packed before every step (KOPE)
passive     nothing, unless the model asks for it (`RECALL <words>`)
everything  all that fits of the task's and then of every other case
none        nothing
flat        the best by relevance alone, without the graph's score, in as
            many tokens as 'active' may take
utility     by a worth learnt from what came of showing a case (EvoKernel's
            form: Q <- Q + alpha (r - Q)), apart for drafting and refining
"""

from collections.abc import Callable, Sequence

from jaxkern.agent.case import Case
from jaxkern.agent.context import Item
from jaxkern.agent.graph import Graph
from jaxkern.agent.retrieval import Embed, Found, Query, retrieve

ARMS = ("active", "passive", "everything", "none", "flat", "utility")
ALPHA = 0.3  # of the learnt worth
_SHOWN = 24
_MOST = 2000  # of 'everything'


def select(
  graph: Graph,
  arm: str,
  query: Query,
  stage: str = "refine",
  embedder: Embed | None = None,
) -> list[Found]:
  """The cases that an arm shows, the most important first.

  Args:
    graph: where they are.
    arm: of ARMS.
    query: for what.
    stage: 'draft' while nothing works yet, else 'refine'.
    embedder: as in `retrieve`.

  Raises:
    ValueError: unknown arm.
  """
  if arm not in ARMS:
    raise ValueError(f"arm: expected one of {', '.join(ARMS)}, got {arm!r}")
  if arm in ("none", "passive"):
    return []
  if arm == "everything":
    cases = graph.select(
      f"ORDER BY task != ?, n DESC LIMIT {_MOST}", (query.task,)
    )
    return [Found(case, "all", 1.0, 1.0) for case in cases]
  found = retrieve(graph, query, _SHOWN, embedder)
  if arm == "flat":
    return sorted(found, key=lambda f: (-f.relevance, f.case.id))
  if arm == "utility":
    worth = {f.case.id: utility(graph, f.case.id, stage) for f in found}
    top = max((f.relevance for f in found), default=1.0)
    return sorted(found, key=lambda f: -(f.relevance / top + worth[f.case.id]))
  return found


def utility(graph: Graph, case: str, stage: str) -> float:
  """Q of a case; 1, the gain of no change, before it was ever shown."""
  row = graph.database.execute(
    'SELECT q FROM utility WHERE "case" = ? AND stage = ?', (case, stage)
  ).fetchone()
  return row[0] if row else 1.0


def learn(graph: Graph, shown: Sequence[str], stage: str, gain: float) -> None:
  """Q <- Q + alpha (gain - Q) for every case that a prompt showed."""
  with graph.transaction():
    for case in shown:
      graph.database.execute(
        """INSERT INTO utility VALUES (?1, ?2, 1 + ?3 * (?4 - 1), 1)
        ON CONFLICT DO UPDATE SET q = q + ?3 * (?4 - q), uses = uses + 1""",
        (case, stage, ALPHA, min(gain, 10.0)),
      )


def items(
  found: Sequence[Found], render: Callable[[Case], str] | None = None
) -> list[Item]:
  """Found cases as warm items, those from elsewhere as cold ones."""
  return [
    Item(
      "cold" if f.scope == "device" else "warm",
      "case",
      (render or compact)(f.case),
      f.case.id,
    )
    for f in found
  ]


def compact(case: Case) -> str:
  """A case in a few lines: what was done, what came of it, and the change."""
  outcome = (
    f"{case.speedup:.2f}x, {case.gain:.2f}x its predecessor ({case.label})"
    if case.ok
    else f"{case.status}: {case.feedback[:200]}"
  )
  lines = [f"[{case.task} on {case.device}] {case.strategy}: {outcome}"]
  if case.thought:
    lines.append(case.thought)
  if case.diff:
    lines.append(case.diff[:600])
  return "\n".join(lines)
