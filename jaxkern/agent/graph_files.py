"""Graphs as JSON lines, two graphs as one, and whether a graph is sound."""

import json
import math
import os
from collections.abc import Iterator
from typing import TextIO

from jaxkern.agent.case import Case, Entry, judged, score
from jaxkern.agent.graph import Graph


def export(graph: Graph, file: TextIO) -> int:
  """Writes every case and journal entry as a line; returns how many."""
  written = 0
  for kind, record in _records(graph):
    line = {"kind": kind, **record._asdict()}
    if kind == "entry":  # Its own `kind` would hide the record's.
      line = {"kind": "entry", "entry": record._asdict()}
    file.write(json.dumps(line) + "\n")
    written += 1
  return written


def load(graph: Graph, file: TextIO) -> int:
  """Adds what `export` wrote; returns how many cases are new.

  Lines that are here already are passed over. All or nothing.

  Raises:
    ValueError: a line that is none of export's, by its number.
  """
  added = 0
  with graph.transaction():
    for number, line in enumerate(file, 1):
      try:
        record = json.loads(line)
        kind = record.pop("kind")
        if kind == "entry":
          graph.note(Entry(**record["entry"]))
        elif kind == "case":
          record["times_us"] = tuple(record["times_us"])
          added += graph.restore(Case(**record))
        else:
          raise ValueError(f"unknown kind {kind!r}")
      except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"line {number}: {error}") from error
  return added


def merge(into: Graph, other: Graph) -> int:
  """Adds what another graph has; returns how many cases are new."""
  added = 0
  with into.transaction():
    for kind, record in _records(other):
      if kind == "case":
        added += into.restore(record)
      else:
        into.note(record)
  return added


def _records(graph: Graph) -> Iterator[tuple[str, Case | Entry]]:
  """Cases, predecessors first, then the journal."""
  for case in graph.select():
    yield "case", case
  for entry in graph.journal():
    yield "entry", entry


def check(graph: Graph) -> list[str]:
  """What is wrong with a graph, a line each; [] if nothing is.

  SQLite's own check; then that predecessors exist and are older, and that
  gains, labels and scores are those that follow from the speedups.
  """
  database = graph.database
  wrong = [
    f"file: {row[0]}"
    for row in database.execute("PRAGMA integrity_check")
    if row[0] != "ok"
  ]
  speedups: dict[str, float] = {}
  gains: dict[str, float] = {}
  below: dict[str, list[str]] = {}
  for case in graph.select():
    if case.prev and case.prev not in speedups:
      wrong.append(f"case {case.id}: no older case {case.prev}")
    right = judged(case, speedups.get(case.prev))
    if not math.isclose(right.gain, case.gain) or right.label != case.label:
      wrong.append(
        f"case {case.id}: expected gain {right.gain:.6g} {right.label},"
        f" got {case.gain:.6g} {case.label}"
      )
    speedups[case.id], gains[case.id] = case.speedup, case.gain
    if case.prev:
      below.setdefault(case.prev, []).append(case.id)
  wrong += _wrong_scores(graph, gains, below)
  return wrong


def _wrong_scores(graph: Graph, gains, below) -> list[str]:
  """Cases whose stored d(v) is not what the forest gives."""
  scores: dict[str, float] = {}
  for case_id in reversed(gains):  # Successors are younger.
    scores[case_id] = score(
      gains[case_id], [scores[u] for u in below.get(case_id, ())]
    )
  wrong = []
  stored = graph.database.execute(
    "SELECT id, score FROM cases LEFT JOIN ranks USING (n)"
  )
  for case_id, value in stored:
    right = scores[case_id]
    if value is None or not math.isclose(value, right, abs_tol=1e-6):
      wrong.append(f"case {case_id}: expected score {right:.9g}, got {value}")
  return wrong


def open_existing(path: str | os.PathLike) -> Graph:
  """A graph that must be there.

  Raises:
    ValueError: there is no such file.
  """
  if not os.path.exists(path):
    raise ValueError(f"graph: expected an experience graph, found no {path}")
  return Graph(path)
