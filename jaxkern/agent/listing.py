"""Commands on an experience graph, as texts for people."""

from collections.abc import Sequence

from jaxkern.agent import embedding, graph_files, page
from jaxkern.agent.arms import compact
from jaxkern.agent.case import Case
from jaxkern.agent.graph import Graph
from jaxkern.agent.retrieval import Query, retrieve

_COMMANDS = {
  "list": 0,
  "search": None,
  "lineage": 1,
  "show": 1,
  "export": 1,
  "import": 1,
  "merge": 1,
  "draw": 1,
  "check": 0,
}


def answer(
  path: str,
  words: Sequence[str],
  *,
  task: str = "",
  family: str = "",
  device: str = "cpu",
  limit: int = 20,
) -> str:
  """What a command says.

  Raises:
    ValueError: an unknown command, too many or too few words, no such graph or
      case, or a graph that is not sound (`check`).
  """
  command, *rest = words or [""]
  expected = _COMMANDS.get(command, -1)
  if expected == -1 or expected not in (None, len(rest)):
    raise ValueError(
      f"command: expected one of {', '.join(_COMMANDS)} with its argument,"
      f" got {' '.join(words)!r}"
    )
  if command == "import":
    with Graph(path) as graph, open(rest[0], encoding="utf-8") as file:
      return f"{graph_files.load(graph, file)} new cases"
  with graph_files.open_existing(path) as graph:
    if command == "list":
      return table(graph, task, limit)
    if command == "search":
      query = Query(task, family, device, " ".join(rest))
      return _found(graph, query, limit)
    if command in ("lineage", "show"):
      line = graph.lineage(rest[0])
      if not line:
        raise ValueError(f"case: expected one of {path}, got {rest[0]!r}")
      if command == "show":
        return shown(graph, line[-1])
      return "\n".join(map(row, line))
    if command == "export":
      with open(rest[0], "w", encoding="utf-8") as file:
        return f"{graph_files.export(graph, file)} lines"
    if command == "merge":
      with graph_files.open_existing(rest[0]) as other:
        return f"{graph_files.merge(graph, other)} new cases"
    if command == "draw":
      return str(page.graph_page(rest[0], graph))
    wrong = graph_files.check(graph)
    if wrong:
      raise ValueError("graph: " + "; ".join(wrong[:limit]))
    return f"{graph.count()} cases, nothing wrong"


def table(graph: Graph, task: str, limit: int) -> str:
  """Tasks with their best; or one task's cases, the best first."""
  if task:
    cases = graph.select(
      "WHERE task = ? ORDER BY status = 'ok' DESC, speedup DESC LIMIT ?",
      (task, limit),
    )
    return "\n".join(map(row, cases))
  rows = graph.database.execute(
    """SELECT task, device, count(*), sum(status = 'ok'), max(speedup)
    FROM cases GROUP BY task, device ORDER BY max(n) DESC LIMIT ?""",
    (limit,),
  )
  return "\n".join(
    f"{name:32} {device:5} {cases:6} cases {right:6} right  best {best:.2f}x"
    for name, device, cases, right, best in rows
  )


def row(case: Case) -> str:
  """A case on a line."""
  outcome = f"{case.speedup:.2f}x {case.label}" if case.ok else case.status
  return f"{case.id}  {case.task} {case.device}  {outcome}  {case.strategy}"


def shown(graph: Graph, case: Case) -> str:
  """A case in full."""
  head = [
    row(case),
    f"gain {case.gain:.3f}, score {graph.score(case.id):.3f},"
    f" confidence {case.confidence}, step {case.step} of {case.session}",
    f"by {case.proposer}: {case.thought}",
    case.feedback,
    case.diff,
    case.source,
  ]
  return "\n".join(filter(None, head))


def _found(graph: Graph, query: Query, limit: int) -> str:
  embedder = embedding.find()
  found = retrieve(graph, query, limit, embedder)
  lines = [f"{f.scope:8} {f.case.id}  {compact(f.case)}" for f in found]
  if embedder is None:
    lines.append("(by filters and words; no embedder for meaning is installed)")
  return "\n".join(lines) or "nothing found"
