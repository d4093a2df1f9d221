"""What the graph knows that may help: exact filters, words, meaning, score.

1. Exact filters: cases of the task, of its family, of the device, and the same
   of other devices, the best of every label and the failed ones.
2. Words (FTS5, BM25) and meaning (an embedder; which tasks are alike) find
   cases elsewhere and say how relevant each is: reciprocal ranks are added.
3. Among cases of similar relevance d(v) c_v decides.

Each part looks at a bounded number of rows, so that the time does not grow with
the graph: words that more than RARE cases contain tell nothing apart and are
left out.
"""

import re
import sqlite3
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from jaxkern.agent.case import LABELS, Case
from jaxkern.agent.graph import Graph

BUCKETS = (*LABELS, "failed")
RARE = 1000  # cases
_WORDS = 8  # terms of a query
_BEST = 12  # per bucket
_ALIKE = 4  # tasks
_SIMILAR = 0.9  # Relevances in this ratio are the same.
_WORD = re.compile(r"\w{2,40}")


class Query(NamedTuple):
  """What help is wanted for.

  Attributes:
    task, family: what is being worked on.
    device: where; cases of other devices come second.
    text: what the task and the latest feedback say.
    across: whether cases of other devices are wanted at all.
    labels: buckets that are wanted, of BUCKETS.
  """

  task: str
  family: str = ""
  device: str = "cpu"
  text: str = ""
  across: bool = True
  labels: tuple[str, ...] = BUCKETS


class Found(NamedTuple):
  """A case and why it is here.

  Attributes:
    case: the case.
    scope: 'task', 'family', 'device', 'words' or 'meaning'.
    relevance: the sum of reciprocal ranks.
    value: d(v) c_v.
  """

  case: Case
  scope: str
  relevance: float
  value: float


Embed = Callable[[str], np.ndarray]


def retrieve(
  graph: Graph, query: Query, limit: int = 32, embedder: Embed | None = None
) -> list[Found]:
  """At most `limit` cases, the most helpful first.

  Args:
    graph: where to look.
    query: for what.
    limit: of cases.
    embedder: a text's meaning; None leaves that part out.
  """
  relevance: dict[int, float] = {}
  scopes: dict[int, str] = {}
  values: dict[int, float] = {}

  def add(rows, scope: str, rank: int) -> None:
    """Counts rows (n, value) as found at a rank."""
    for n, value in rows:
      relevance[n] = relevance.get(n, 0.0) + 1 / (5 + rank)
      scopes.setdefault(n, scope)
      values[n] = value

  devices = [query.device]
  if query.across:
    devices += _other_devices(graph, query.device)
  for at, device in enumerate(devices):
    for rank, (scope, name) in enumerate(
      (("task", query.task), ("family", query.family), ("device", device))
    ):
      if name:
        rows = _best(graph, scope, name, device, query.labels)
        add(rows, scope, rank + 2 * at)
  if embedder is not None:
    for rank, task in enumerate(_alike(graph, query, embedder)):
      for device in devices:
        rows = _best(graph, "task", task, device, query.labels)
        add(rows, "meaning", rank)
  for rank, n in enumerate(_by_words(graph, query.text)):
    add(_wanted(graph, n, query.labels, devices), "words", rank)
  order = _banded(relevance, values)[:limit]
  cases = graph.select(
    f"WHERE n IN ({', '.join('?' * len(order))}) ORDER BY n", sorted(order)
  )
  by_n = dict(zip(sorted(order), cases, strict=True))
  return [Found(by_n[n], scopes[n], relevance[n], values[n]) for n in order]


def _wanted(graph: Graph, n: int, labels, devices):
  """Row (n, value) of a case, if its bucket and device are wanted."""
  return graph.database.execute(
    f"SELECT n, value FROM ranks WHERE n = ?"
    f" AND bucket IN ({', '.join('?' * len(labels))})"
    f" AND device IN ({', '.join('?' * len(devices))})",
    (n, *labels, *devices),
  )


def _banded(relevance: dict[int, float], values: dict[int, float]):
  """Rows by relevance; those of similar relevance by value, then by age."""
  order: list[int] = []
  band: list[int] = []
  for n in sorted(relevance, key=lambda n: (-relevance[n], n)):
    if band and relevance[n] < _SIMILAR * relevance[band[0]]:
      order += sorted(band, key=lambda n: (-values[n], n))
      band = []
    band.append(n)
  return order + sorted(band, key=lambda n: (-values[n], n))


def _best(graph: Graph, scope: str, name: str, device: str, labels):
  """Rows (n, value): the best of every bucket."""
  where = "device = ?" if scope == "device" else f"{scope} = ? AND device = ?"
  key = (device,) if scope == "device" else (name, device)
  rows = []
  for bucket in labels:
    rows += graph.database.execute(
      f"SELECT n, value FROM ranks WHERE {where} AND bucket = ?"
      f" ORDER BY value DESC LIMIT {_BEST}",
      (*key, bucket),
    )
  return rows


def _other_devices(graph: Graph, own: str) -> list[str]:
  """The graph's other devices: a skip along the index for each."""
  rows = graph.database.execute(
    """WITH RECURSIVE d (name) AS (
      SELECT min(device) FROM ranks UNION ALL
      SELECT (SELECT min(device) FROM ranks WHERE device > d.name) FROM d
      WHERE d.name IS NOT NULL)
    SELECT name FROM d WHERE name IS NOT NULL"""
  )
  return [name for (name,) in rows if name != own]


def _by_words(graph: Graph, text: str) -> list[int]:
  """Rows that share rare words with a text, by BM25."""
  counted = []
  for word in dict.fromkeys(w.lower() for w in _WORD.findall(text)):
    term = f'"{word}"'
    few = graph.database.execute(
      f"SELECT rowid FROM words WHERE words MATCH ? LIMIT {RARE + 1}", (term,)
    )
    count = sum(1 for _ in few)
    if 0 < count <= RARE:
      counted.append((count, term))
    if len(counted) >= 4 * _WORDS:
      break
  if not counted:
    return []
  terms = [term for _, term in sorted(counted)[:_WORDS]]
  rows = graph.database.execute(
    "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT 48",
    (" OR ".join(terms),),
  )
  return [n for (n,) in rows]


def _alike(graph: Graph, query: Query, embedder: Embed) -> list[str]:
  """Other tasks, by how near what they say is to what this one says."""
  rows = graph.database.execute(
    "SELECT task, text FROM tasks WHERE task != ?", (query.task,)
  ).fetchall()
  if not rows:
    return []
  own = embedder(f"{query.task} {query.text}"[:400])
  vectors = np.stack([_vector(graph, f"{t} {x}", embedder) for t, x in rows])
  order = np.argsort(-(vectors @ own), kind="stable")
  return [rows[k][0] for k in order[:_ALIKE]]


def _vector(graph: Graph, text: str, embedder: Embed) -> np.ndarray:
  """An embedding, computed once per graph."""
  model = getattr(embedder, "name", "")
  row = graph.database.execute(
    "SELECT vector FROM vectors WHERE model = ? AND text = ?", (model, text)
  ).fetchone()
  if row:
    return np.frombuffer(row[0], np.float32)
  vector = np.asarray(embedder(text), np.float32)
  try:
    graph.database.execute(
      "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)",
      (model, text, vector.tobytes()),
    )
  except sqlite3.OperationalError:  # Somebody else writes: computed again.
    pass
  return vector
