"""Several processes write one graph, and some of them are killed."""

import os
import signal
import subprocess
import sys
import time

from jaxkern.agent import graph_files
from jaxkern.agent.graph import Graph

WRITER = """
import sys
from jaxkern.agent.graph import Graph
from tests.agent.forest import case
path, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
with Graph(path) as graph:
  before = ""
  for k in range(count):
    before = graph.append(case(1 + k % 3, before, session=name, step=k)).id
    print(before, flush=True)  # Only after it has been committed.
"""


def writer(path, name, count):
  return subprocess.Popen(
    [sys.executable, "-c", WRITER, os.fspath(path), name, str(count)],
    stdout=subprocess.PIPE,
    text=True,
  )


def test_writers_at_once_lose_nothing(tmp_path):
  path = tmp_path / "shared.db"
  writers = [writer(path, str(k), 200) for k in range(3)]
  said = [w.communicate(timeout=60)[0].split() for w in writers]
  assert [len(ids) for ids in said] == [200] * 3
  with Graph(path) as graph:
    assert graph.count() == 600
    assert {c.id for c in graph.select()} == set(sum(said, []))
    assert graph_files.check(graph) == []


def test_sigkill_loses_nothing_that_was_committed(tmp_path):
  path = tmp_path / "killed.db"
  other = writer(path, "other", 300)
  victim = writer(path, "victim", 1_000_000)
  said = [victim.stdout.readline() for _ in range(20)]
  time.sleep(0.05)
  os.kill(victim.pid, signal.SIGKILL)
  said += victim.stdout.read().splitlines(keepends=True)
  assert victim.wait(timeout=10) == -signal.SIGKILL
  victim.stdout.close()
  assert len(other.communicate(timeout=60)[0].split()) == 300
  whole = {line.strip() for line in said if line.endswith("\n")}
  with Graph(path) as graph:
    kept = {c.id for c in graph.select("WHERE session = 'victim'")}
    assert whole <= kept
    assert len(kept) <= len(whole) + 1  # Committed, and not said any more.
    assert graph_files.check(graph) == []
