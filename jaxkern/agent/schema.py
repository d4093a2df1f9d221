"""The tables of an experience graph, and how older files become current.

MIGRATIONS[k] turns version k into k + 1; `PRAGMA user_version` is the version.
Cases and journal entries are never changed or removed: triggers refuse it.
What follows from them (ranks, words, vectors) lies in tables of its own.
"""

import sqlite3

_CASES = (
  """CREATE TABLE cases (
    n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,
    task TEXT NOT NULL, family TEXT NOT NULL, level INTEGER NOT NULL,
    dtype TEXT NOT NULL, shapes TEXT NOT NULL, device TEXT NOT NULL,
    hardware TEXT NOT NULL, prev TEXT NOT NULL, session TEXT NOT NULL,
    step INTEGER NOT NULL, proposer TEXT NOT NULL, strategy TEXT NOT NULL,
    thought TEXT NOT NULL, diff TEXT NOT NULL, source TEXT NOT NULL,
    status TEXT NOT NULL, feedback TEXT NOT NULL, times_us TEXT NOT NULL,
    speedup REAL NOT NULL, gain REAL NOT NULL, label TEXT NOT NULL,
    confidence REAL NOT NULL, tokens_in INTEGER NOT NULL,
    tokens_out INTEGER NOT NULL, seconds REAL NOT NULL, facts TEXT NOT NULL,
    provenance TEXT NOT NULL, created REAL NOT NULL)""",
  "CREATE INDEX cases_prev ON cases (prev) WHERE prev != ''",
  "CREATE INDEX cases_session ON cases (session, step)",
  "CREATE INDEX cases_task ON cases (task, device, status)",
  """CREATE TABLE journal (
    n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, session TEXT NOT NULL,
    kind TEXT NOT NULL, text TEXT NOT NULL, "case" TEXT NOT NULL,
    created REAL NOT NULL)""",
  "CREATE INDEX journal_session ON journal (session)",
  *(
    f"""CREATE TRIGGER {table}_no_{what} BEFORE {what} ON {table}
    BEGIN SELECT RAISE(ABORT, '{table}: append-only'); END"""
    for table in ("cases", "journal")
    for what in ("update", "delete")
  ),
  # value: d(v) * c_v. A failed case has its own bucket in place of its label.
  """CREATE TABLE ranks (
    n INTEGER PRIMARY KEY, score REAL NOT NULL, successors INTEGER NOT NULL,
    task TEXT NOT NULL, family TEXT NOT NULL, device TEXT NOT NULL,
    bucket TEXT NOT NULL, value REAL NOT NULL)""",
  "CREATE INDEX ranks_task ON ranks (task, device, bucket, value)",
  "CREATE INDEX ranks_family ON ranks (family, device, bucket, value)",
  "CREATE INDEX ranks_device ON ranks (device, bucket, value)",
  "CREATE VIRTUAL TABLE words USING fts5(text, content='')",
  "CREATE VIRTUAL TABLE word_counts USING fts5vocab(words, 'row')",
)
_PROMPTS = (
  # What a prompt was made of, so that a token leads to the case it came from.
  """CREATE TABLE prompts (
    n INTEGER PRIMARY KEY, session TEXT NOT NULL, step INTEGER NOT NULL,
    arm TEXT NOT NULL, budget INTEGER NOT NULL, tokens INTEGER NOT NULL,
    created REAL NOT NULL)""",
  "CREATE INDEX prompts_session ON prompts (session, step)",
  """CREATE TABLE prompt_items (
    prompt INTEGER NOT NULL, position INTEGER NOT NULL, tier TEXT NOT NULL,
    kind TEXT NOT NULL, "case" TEXT NOT NULL, first INTEGER NOT NULL,
    tokens INTEGER NOT NULL, PRIMARY KEY (prompt, position)) WITHOUT ROWID""",
)
_MEANING = (
  # What tasks say, and the meaning of texts as an embedder sees it.
  """CREATE TABLE tasks (
    task TEXT PRIMARY KEY, family TEXT NOT NULL, text TEXT NOT NULL
    ) WITHOUT ROWID""",
  "INSERT INTO tasks SELECT DISTINCT task, family, task FROM cases",
  """CREATE TABLE vectors (
    model TEXT NOT NULL, text TEXT NOT NULL, vector BLOB NOT NULL,
    PRIMARY KEY (model, text)) WITHOUT ROWID""",
  # EvoKernel's learned worth of a case, apart for drafting and refining.
  """CREATE TABLE utility (
    "case" TEXT NOT NULL, stage TEXT NOT NULL, q REAL NOT NULL,
    uses INTEGER NOT NULL, PRIMARY KEY ("case", stage)) WITHOUT ROWID""",
)
MIGRATIONS = (_CASES, _PROMPTS, _MEANING)
VERSION = len(MIGRATIONS)


def migrate(database: sqlite3.Connection, path: str) -> None:
  """Brings an open file to VERSION, whole or not at all.

  Raises:
    ValueError: the file is newer than this program, or no experience graph.
  """
  found = database.execute("PRAGMA user_version").fetchone()[0]
  if found == VERSION:
    return
  database.execute("BEGIN IMMEDIATE")
  try:
    found = database.execute("PRAGMA user_version").fetchone()[0]
    if found > VERSION:
      raise ValueError(
        f"graph: expected up to version {VERSION}, got {found} in {path}"
      )
    if (
      found == 0 and database.execute("SELECT 1 FROM sqlite_master").fetchone()
    ):
      raise ValueError(f"graph: expected an experience graph, got {path}")
    for statements in MIGRATIONS[found:]:
      for statement in statements:
        database.execute(statement)
    database.execute(f"PRAGMA user_version = {VERSION}")
    database.execute("COMMIT")
  except BaseException:
    database.execute("ROLLBACK")
    raise
