"""The experience graph: every attempt at a kernel, in one SQLite file.

  with Graph("experience.db") as graph:
    root = graph.append(Case(task="softmax", status="ok", speedup=1.0))
    graph.append(Case(task="softmax", prev=root.id, status="ok", speedup=1.3))

One thread at a time may use a Graph. Several processes may write one file at
once (WAL; a writer waits for the other one). A transaction that has ended
survives the death of its process, by SIGKILL too. Against the loss of power
there is `durable=True`, at the price of a disk's flush each time.
"""

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence

from jaxkern.agent import schema
from jaxkern.agent.case import INHERITED, OWN, Case, Entry, judged, stamped

_FIELDS = Case._fields
_PLACES = ", ".join("?" * len(_FIELDS))
_INSERT = f"INSERT INTO cases ({', '.join(_FIELDS)}) VALUES ({_PLACES})"
_COLUMNS = ", ".join(f"cases.{name}" for name in _FIELDS)
_JSON = ("times_us", "facts", "provenance")
# A change of a score that is smaller is not carried on to predecessors.
_NEGLIGIBLE = 1e-9
_WAIT_S = 60.0
_CACHE_KIB = 64 << 10


class Graph:
  """An open experience graph."""

  def __init__(self, path: str | os.PathLike, durable: bool = False):
    """Opens the file, made if missing, and brings it to the current version.

    Args:
      path: the file; ':memory:' for one that nobody keeps.
      durable: commits wait until they are on the disk.

    Raises:
      ValueError: not an experience graph, or of a newer version.
    """
    self.path = os.fspath(path)
    try:
      self._db = sqlite3.connect(
        self.path,
        timeout=_WAIT_S,
        isolation_level=None,
        check_same_thread=False,
      )
      self._db.execute("PRAGMA journal_mode = WAL")
      self._db.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
      self._db.execute(
        f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}"
      )
      schema.migrate(self._db, self.path)
    except sqlite3.Error as error:
      raise ValueError(
        f"graph: expected an experience graph, got {self.path} ({error})"
      ) from error

  @property
  def database(self) -> sqlite3.Connection:
    """For readers; writers use the methods."""
    return self._db

  @contextlib.contextmanager
  def transaction(self) -> Iterator[None]:
    """What is written inside is there whole or not at all."""
    if self._db.in_transaction:
      yield
      return
    self._db.execute("BEGIN IMMEDIATE")
    try:
      yield
    except BaseException:
      self._db.execute("ROLLBACK")
      raise
    self._db.execute("COMMIT")

  def append(self, case: Case) -> Case:
    """Records an attempt: its id, time, gain and label are set.

    Raises:
      ValueError: the predecessor is not in the graph, or the id is.
    """
    with self.transaction():
      before = None
      if case.prev:
        row = self._db.execute(
          "SELECT speedup FROM cases WHERE id = ?", (case.prev,)
        ).fetchone()
        if row is None:
          raise ValueError(
            f"case.prev: expected a case of this graph, got {case.prev!r}"
          )
        before = row[0]
      case = stamped(judged(case, before))
      self._insert(case)
    return case

  def restore(self, case: Case) -> bool:
    """Takes over a case of another graph as it is; False if it is here.

    Raises:
      ValueError: another case has its id, or its predecessor is missing.
    """
    with self.transaction():
      known = self.get(case.id)
      if known is not None:
        if known != case:
          raise ValueError(f"case {case.id}: two graphs have different ones")
        return False
      if case.prev and self.get(case.prev) is None:
        raise ValueError(
          f"case {case.id}: its predecessor {case.prev} is missing"
        )
      self._insert(case)
    return True

  def note(self, entry: Entry) -> Entry:
    """Appends to the journal."""
    entry = stamped(entry)
    self._db.execute(
      "INSERT OR IGNORE INTO journal"
      ' (session, kind, text, "case", created, id) VALUES (?, ?, ?, ?, ?, ?)',
      entry,
    )
    return entry

  def describe(self, task: str, family: str, text: str) -> None:
    """Keeps what a task says, by which like tasks are found."""
    self._db.execute(
      """INSERT INTO tasks VALUES (?1, ?2, ?3) ON CONFLICT DO
      UPDATE SET text = ?3 WHERE ?3 != '' AND text != ?3""",
      (task, family, text),
    )

  def journal(self, session: str | None = None) -> list[Entry]:
    """Entries in order, of one session or all."""
    where, values = ("WHERE session = ?", (session,)) if session else ("", ())
    rows = self._db.execute(
      f'SELECT session, kind, text, "case", created, id FROM journal {where}'
      " ORDER BY n",
      values,
    )
    return [Entry(*row) for row in rows]

  def get(self, case_id: str) -> Case | None:
    """The case with an id."""
    return next(self.select("WHERE id = ?", (case_id,)), None)

  def select(self, rest: str = "", values: Sequence = ()) -> Iterator[Case]:
    """Cases that a WHERE, ORDER BY and LIMIT choose, oldest first if neither.

    The tables `cases` and `ranks` are joined where `rest` begins with JOIN.
    """
    if "ORDER BY" not in rest and "LIMIT" not in rest:
      rest += " ORDER BY cases.n"
    for row in self._db.execute(f"SELECT {_COLUMNS} FROM cases {rest}", values):
      yield case_of(row)

  def lineage(self, case_id: str) -> list[Case]:
    """A case with those that it came from, the root first."""
    rows = self._db.execute(
      f"""WITH RECURSIVE line (id, depth) AS (
        SELECT ?, 0 UNION ALL SELECT cases.prev, depth + 1 FROM line
        JOIN cases ON cases.id = line.id WHERE cases.prev != '')
      SELECT {_COLUMNS} FROM line JOIN cases ON cases.id = line.id
      ORDER BY depth DESC""",
      (case_id,),
    )
    return [case_of(row) for row in rows]

  def successors(self, case_id: str) -> list[Case]:
    """The cases that started from this one."""
    return list(self.select("WHERE prev = ?", (case_id,)))

  def score(self, case_id: str) -> float:
    """d(v)."""
    row = self._db.execute(
      "SELECT score FROM ranks JOIN cases USING (n) WHERE id = ?", (case_id,)
    ).fetchone()
    if row is None:
      raise ValueError(f"case: expected one of this graph, got {case_id!r}")
    return row[0]

  def count(self) -> int:
    """How many cases there are."""
    return self._db.execute("SELECT count(*) FROM cases").fetchone()[0]

  def close(self) -> None:
    """Closes the file."""
    self._db.close()

  def __enter__(self) -> "Graph":
    """Returns itself."""
    return self

  def __exit__(self, *exception) -> None:
    """Closes."""
    self.close()

  def _insert(self, case: Case) -> None:
    row = [
      json.dumps(value) if name in _JSON else value
      for name, value in zip(_FIELDS, case, strict=True)
    ]
    n = self._db.execute(_INSERT, row).lastrowid
    self._db.execute(
      "INSERT INTO ranks VALUES (?, ?, 0, ?, ?, ?, ?, ?)",
      (
        n,
        case.gain,
        case.task,
        case.family,
        case.device,
        case.label if case.ok else "failed",
        case.gain * case.confidence,
      ),
    )
    self._db.execute(
      "INSERT INTO words (rowid, text) VALUES (?, ?)", (n, text_of(case))
    )
    self.describe(case.task, case.family, "")
    if case.prev:
      self._raise_scores(case.prev, case.gain)

  def _raise_scores(self, predecessor: str, added: float) -> None:
    """Carries a new successor's d(u) to those it came from.

    A first successor also ends the exception for cases without: r becomes
    0.5 r. Each step back weighs 0.35, so few steps suffice.
    """
    grown = True
    while predecessor and (grown or abs(added) > _NEGLIGIBLE):
      n, before, successors, value, gain, confidence, further = (
        self._db.execute(
          """SELECT n, score, successors, value, gain, confidence, prev
          FROM cases JOIN ranks USING (n) WHERE id = ?""",
          (predecessor,),
        ).fetchone()
      )
      base = OWN * gain if successors == 0 else before
      after = base + INHERITED * added
      self._db.execute(
        "UPDATE ranks SET score = ?, successors = ? WHERE n = ?",
        (after, successors + grown, n),
      )
      # Its indexes cost more than all the rest, and a hundredth orders nothing.
      if abs(after * confidence - value) > 0.01 * abs(value):
        self._db.execute(
          "UPDATE ranks SET value = ? WHERE n = ?", (after * confidence, n)
        )
      predecessor, added, grown = further, after - before, False


def case_of(row: Sequence) -> Case:
  """A Case from the columns of its table."""
  values = dict(zip(_FIELDS, row, strict=True))
  for name in _JSON:
    values[name] = json.loads(values[name])
  return Case(**{**values, "times_us": tuple(values["times_us"])})


def text_of(case: Case) -> str:
  """What of a case is searched for words."""
  # Not the source: its words are in the next version's, too.
  return " ".join(
    (
      case.task,
      case.family,
      case.dtype,
      case.strategy,
      case.thought,
      case.status,
      case.feedback,
    )
  )


def append_all(graph: Graph, cases: Iterable[Case]) -> list[Case]:
  """Records attempts in one transaction."""
  with graph.transaction():
    return [graph.append(case) for case in cases]
