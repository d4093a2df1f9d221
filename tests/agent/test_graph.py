import io
import sqlite3

import pytest

from jaxkern.agent import graph_files, schema
from jaxkern.agent.case import Entry
from jaxkern.agent.graph import Graph, append_all
from tests.agent.forest import case


@pytest.fixture
def graph(tmp_path):
  with Graph(tmp_path / "experience.db") as made:
    yield made


def test_a_forest_by_hand(graph):
  """root 1.0 -> a 2.0 -> (b 3.0, c failed); d by pencil."""
  root = graph.append(case(1.0))
  a = graph.append(case(2.0, root.id))
  b = graph.append(case(3.0, a.id))
  c = graph.append(case(0, a.id))
  assert (a.gain, a.label) == (2.0, "effective")
  assert (b.gain, b.label) == (1.5, "effective")
  assert (c.gain, c.label) == (0.0, "negative")
  d_a = 0.5 * 2 + 0.35 * (1.5 + 0)
  assert graph.score(b.id) == 1.5
  assert graph.score(c.id) == 0
  assert graph.score(a.id) == pytest.approx(d_a)
  assert graph.score(root.id) == pytest.approx(0.5 + 0.35 * d_a)
  assert graph_files.check(graph) == []


def test_a_child_of_a_failure_gains_one(graph):
  failed = graph.append(case(0))
  repaired = graph.append(case(4.0, failed.id))
  assert (failed.gain, repaired.gain) == (0, 1)


def test_every_field_comes_back(graph):
  made = graph.append(
    case(
      1.5,
      times_us=(1.0, 2.0),
      facts={"registers": 8},
      provenance={"commit": "abc"},
      diff="-a\n+b",
      tokens_in=3,
    )
  )
  assert graph.get(made.id) == made
  assert made.id
  assert made.created > 0


def test_unknown_predecessor_is_refused_and_nothing_is_written(graph):
  with pytest.raises(ValueError, match="case.prev: expected a case"):
    graph.append(case(1.0, "nobody"))
  assert graph.count() == 0


def test_lineage_and_successors(graph):
  root = graph.append(case(1.0))
  child = graph.append(case(1.1, root.id))
  leaf = graph.append(case(1.2, child.id))
  assert [c.id for c in graph.lineage(leaf.id)] == [root.id, child.id, leaf.id]
  assert graph.successors(root.id) == [child]


@pytest.mark.parametrize("table", ["cases", "journal"])
@pytest.mark.parametrize(
  "statement", ["UPDATE {} SET session = 'x'", "DELETE FROM {}"]
)
def test_cases_and_journal_are_append_only(graph, table, statement):
  graph.append(case(1.0))
  graph.note(Entry("s", "started", "words"))
  with pytest.raises(sqlite3.IntegrityError, match="append-only"):
    graph.database.execute(statement.format(table))


def test_a_failing_batch_leaves_nothing(graph):
  with pytest.raises(ValueError, match="prev"):
    append_all(graph, [case(1.0), case(1.0, "nobody")])
  assert graph.count() == 0


def test_journal_keeps_order_and_sessions_apart(graph):
  for k, session in enumerate("aba"):
    graph.note(Entry(session, "thought", str(k)))
  assert [e.text for e in graph.journal("a")] == ["0", "2"]
  assert len(graph.journal()) == 3


def test_export_and_load_are_inverse(graph, tmp_path):
  root = graph.append(case(1.0))
  graph.append(case(2.0, root.id, feedback="line 3:\n…"))
  graph.note(Entry("s", "learnt", "words", root.id))
  text = io.StringIO()
  assert graph_files.export(graph, text) == 3
  with Graph(tmp_path / "other.db") as other:
    assert graph_files.load(other, io.StringIO(text.getvalue())) == 2
    assert graph_files.load(other, io.StringIO(text.getvalue())) == 0
    assert list(other.select()) == list(graph.select())
    assert other.journal() == graph.journal()
    assert other.score(root.id) == graph.score(root.id)
    assert graph_files.check(other) == []


@pytest.mark.parametrize(
  "line", ["{", '{"kind": "cat"}', "[]", '{"kind": "case", "colour": 1}']
)
def test_a_line_that_is_none_of_ours_is_named_and_nothing_added(graph, line):
  good = io.StringIO()
  with Graph(":memory:") as other:
    other.append(case(1.0))
    graph_files.export(other, good)
  with pytest.raises(ValueError, match="line 2:"):
    graph_files.load(graph, io.StringIO(good.getvalue() + line + "\n"))
  assert graph.count() == 0


def test_merge_adds_what_is_new_and_scores_it(graph, tmp_path):
  root = graph.append(case(1.0))
  with Graph(tmp_path / "other.db") as other:
    graph_files.merge(other, graph)
    other.append(case(3.0, root.id))
    graph.append(case(2.0, root.id))
    assert graph_files.merge(graph, other) == 1
  assert graph.count() == 3
  assert graph.score(root.id) == pytest.approx(0.5 + 0.35 * 5)
  assert graph_files.check(graph) == []


def test_two_cases_with_one_id_are_refused(graph):
  made = graph.append(case(1.0))
  with pytest.raises(ValueError, match="two graphs have different ones"):
    graph.restore(made._replace(strategy="other"))


def test_check_finds_a_wrong_score(graph):
  made = graph.append(case(1.0))
  graph.database.execute("UPDATE ranks SET score = 9")
  assert made.id in graph_files.check(graph)[0]


def test_an_old_file_is_migrated_and_keeps_its_cases(tmp_path):
  path = tmp_path / "old.db"
  database = sqlite3.connect(path)
  for statement in schema.MIGRATIONS[0]:
    database.execute(statement)
  database.execute("PRAGMA user_version = 1")
  database.commit()
  database.close()
  with Graph(path) as graph:
    assert graph.append(case(1.0)).label == "partial"
    version = graph.database.execute("PRAGMA user_version").fetchone()
    assert version == (schema.VERSION,)
    graph.database.execute("SELECT * FROM prompts, utility, vectors, tasks")


def test_a_newer_file_is_refused(tmp_path):
  path = tmp_path / "new.db"
  Graph(path).close()
  database = sqlite3.connect(path)
  database.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
  database.close()
  with pytest.raises(ValueError, match="expected up to version"):
    Graph(path)


def test_other_files_are_refused(tmp_path):
  (tmp_path / "text").write_text("no database, but long enough " * 100)
  with pytest.raises(ValueError, match="expected an experience graph"):
    Graph(tmp_path / "text")
  database = sqlite3.connect(tmp_path / "foreign.db")
  database.execute("CREATE TABLE t (x)")
  database.close()
  with pytest.raises(ValueError, match="expected an experience graph"):
    Graph(tmp_path / "foreign.db")
