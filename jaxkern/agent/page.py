"""Self-contained pages: a search with its tree and curve, and a whole graph."""

import collections
import io
import os
import pathlib
from collections.abc import Sequence

import jinja2
import markupsafe
from matplotlib.figure import Figure

from jaxkern.agent.case import Case
from jaxkern.agent.graph import Graph

COLOURS = {
  "effective": "#2f8f5b",
  "partial": "#8fc1a3",
  "ineffective": "#f2cc8f",
  "negative": "#e07a5f",
  "failed": "#9a8c98",
}
_MOST = 400  # nodes that are drawn


def search_page(
  path: str | os.PathLike, graph: Graph, session: str, outcome: dict
) -> pathlib.Path:
  """A search's page: best kernel, diff, tree, curve, what was learnt.

  Args:
    path: of the file.
    graph: with the session's cases.
    session: which search.
    outcome: title, speedup, stopped, seconds, tokens, best (source), diff.
  """
  cases = list(graph.select("WHERE session = ?", (session,)))
  return _write(
    path,
    "search.html.j2",
    **outcome,
    session=session,
    tree=_tree(cases),
    curve=_curve(cases),
    colours=COLOURS,
    statuses=collections.Counter(c.status for c in cases).most_common(),
    cases=cases,
    journal=graph.journal(session),
    bucket=bucket,
  )


def graph_page(path: str | os.PathLike, graph: Graph) -> pathlib.Path:
  """A page of a whole graph: tasks, strategies, and the forest."""
  rows = graph.database.execute(
    """SELECT task, device, count(*), sum(status = 'ok'), max(speedup),
      count(DISTINCT session), sum(tokens_in + tokens_out), sum(seconds)
    FROM cases GROUP BY task, device ORDER BY task, device"""
  ).fetchall()
  moves = graph.database.execute(
    """SELECT strategy, device, count(*), sum(status = 'ok'), avg(gain),
      max(gain) FROM cases WHERE strategy != '' GROUP BY strategy, device
    ORDER BY avg(gain) DESC LIMIT 40"""
  ).fetchall()
  cases = list(graph.select(f"ORDER BY n DESC LIMIT {_MOST}"))[::-1]
  return _write(
    path,
    "graph.html.j2",
    count=graph.count(),
    tasks=rows,
    moves=moves,
    tree=_tree(cases),
    colours=COLOURS,
    shown=len(cases),
  )


def bucket(case: Case) -> str:
  """The colour's name: a failed case has its own."""
  return case.label if case.ok else "failed"


def _write(path, template: str, **values) -> pathlib.Path:
  environment = jinja2.Environment(
    loader=jinja2.PackageLoader("jaxkern.agent", "."), autoescape=True
  )
  path = pathlib.Path(path)
  temporary = path.with_suffix(".tmp")
  temporary.write_text(
    environment.get_template(template).render(**values), encoding="utf-8"
  )
  temporary.rename(path)
  return path


def _tree(cases: Sequence[Case]) -> markupsafe.Markup:
  """The forest as SVG: predecessors to the left, names under the pointer."""
  places = _places(cases[-_MOST:])
  width = 40 + 34 * max((x for x, _ in places.values()), default=0)
  height = 30 + 18 * max((y for _, y in places.values()), default=0)
  lines, dots = [], []
  for case in cases[-_MOST:]:
    x, y = (20 + 34 * places[case.id][0], 15 + 18 * places[case.id][1])
    if case.prev in places:
      px, py = places[case.prev]
      px, py = 20 + 34 * px, 15 + 18 * py
      lines.append(
        f'<path d="M{px} {py} C{px + 17} {py} {x - 17} {y} {x} {y}"/>'
      )
    told = f"{case.task}: {case.strategy or case.proposer}"
    told += f", {case.speedup:.2f}x" if case.ok else f", {case.status}"
    dots.append(
      markupsafe.Markup(
        '<circle cx="{}" cy="{}" r="6" fill="{}"><title>{}</title></circle>'
      ).format(x, y, COLOURS[bucket(case)], told)
    )
  return markupsafe.Markup(
    f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
    f' width="{width}" height="{height}"><g fill="none" stroke="#999">'
    f"{''.join(lines)}</g><g>{''.join(dots)}</g></svg>"
  )


def _places(cases: Sequence[Case]) -> dict[str, tuple[int, int]]:
  """(depth, row) of every case: a leaf has a row of its own."""
  known = {c.id for c in cases}
  below = collections.defaultdict(list)
  for case in cases:
    below[case.prev if case.prev in known else ""].append(case.id)
  places: dict[str, tuple[int, int]] = {}
  row = 0
  stack = [(root, 0) for root in reversed(below[""])]
  while stack:
    node, depth = stack.pop()
    places[node] = (depth, row)
    if not below[node]:
      row += 1
    stack += [(child, depth + 1) for child in reversed(below[node])]
  return places


def _curve(cases: Sequence[Case]) -> markupsafe.Markup:
  """Speedups of right kernels over evaluations, and the best so far."""
  figure = Figure(figsize=(6.4, 3.2), layout="constrained")
  axes = figure.subplots()
  right = [(k + 1, c) for k, c in enumerate(cases) if c.ok]
  best = 0.0
  curve = []
  for k, case in right:
    best = max(best, case.speedup)
    curve.append((k, best))
  if right:
    axes.scatter(
      [k for k, _ in right],
      [c.speedup for _, c in right],
      c=[COLOURS[bucket(c)] for _, c in right],
      s=18,
    )
    axes.step(*zip(*curve, strict=True), where="post", color="#2a6f97")
  axes.set_xlabel("attempt")
  axes.set_ylabel("times as fast as the start")
  axes.spines[["top", "right"]].set_visible(False)
  text = io.StringIO()
  figure.savefig(text, format="svg", metadata={"Date": None})
  return markupsafe.Markup(text.getvalue()[text.getvalue().index("<svg") :])
