import re

import pytest

from jaxkern.agent import listing, page
from jaxkern.agent.graph import Graph
from jaxkern.agent.search import optimise
from jaxkern.agent.settings import Budget, Settings
from tests.agent.fake import SUBJECT, FakeEvaluator, Scripted
from tests.agent.forest import case


@pytest.fixture
def graph(tmp_path):
  with Graph(tmp_path / "experience.db") as made:
    yield made


def outcome(**changes):
  defaults = {
    "title": "scale on cpu",
    "speedup": 3.0,
    "stopped": "5 evaluations",
    "seconds": 2.0,
    "tokens": 0,
    "best": "int <best>",
    "diff": "+b",
  }
  return {**defaults, **changes}


def test_a_searchs_page_has_tree_curve_kernel_and_what_was_learnt(
  graph, tmp_path
):
  optimise(
    SUBJECT,
    Scripted("abcd"),
    FakeEvaluator({"naive": 1.0, "a": 2.0, "b": 0, "c": 1.9}),
    graph,
    Settings("s", parallel=1),
    Budget(5),
  )
  text = page.search_page(
    tmp_path / "report.html", graph, "s", outcome()
  ).read_text()
  colours = re.findall(r'<circle [^>]*fill="(#\w+)"', text)
  assert colours.count(page.COLOURS["failed"]) == 2
  assert colours.count(page.COLOURS["effective"]) == 1
  assert "int &lt;best&gt;" in text
  assert "2x by start -&gt; write a" in text
  assert text.count("<svg") == 2
  assert "http" not in re.sub(
    r"https?://www\.w3\.org[^\"]*",
    "",
    re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL),
  )


def test_what_a_model_wrote_is_no_markup(graph, tmp_path):
  graph.append(case(1.0, session="s", strategy="<script>alert(1)</script>"))
  for made in (
    page.search_page(tmp_path / "s.html", graph, "s", outcome()),
    page.graph_page(tmp_path / "g.html", graph),
  ):
    assert "<script>" not in made.read_text()


def test_commands_on_a_graph(graph, tmp_path):
  root = graph.append(case(1.0, strategy="start"))
  leaf = graph.append(case(2.0, root.id, diff="+wide", source="kernel"))
  path = graph.path
  ask = listing.answer
  assert "2 cases" in ask(path, ["list"])
  assert ask(path, ["list"], task="softmax_f16").startswith(leaf.id)
  assert ask(path, ["lineage", leaf.id]).split("\n")[0].startswith(root.id)
  assert "+wide" in ask(path, ["show", leaf.id])
  assert leaf.id in ask(path, ["search", "softmax"], task="softmax_f16")
  assert ask(path, ["export", f"{tmp_path}/x.jsonl"]) == "2 lines"
  other = f"{tmp_path}/other.db"
  assert ask(other, ["import", f"{tmp_path}/x.jsonl"]) == "2 new cases"
  assert ask(other, ["merge", path]) == "0 new cases"
  assert ask(path, ["draw", f"{tmp_path}/e.html"]) == f"{tmp_path}/e.html"
  assert ask(path, ["check"]) == "2 cases, nothing wrong"


@pytest.mark.parametrize(
  ("words", "complaint"),
  [
    ([], "command: expected one of list"),
    (["dance"], "command: expected one of list"),
    (["lineage"], "command: expected one of list"),
    (["show", "nobody"], "case: expected one of"),
  ],
)
def test_wrong_commands_are_refused(graph, words, complaint):
  with pytest.raises(ValueError, match=complaint):
    listing.answer(graph.path, words)


def test_a_graph_that_is_not_there_is_not_made(tmp_path):
  with pytest.raises(ValueError, match="found no"):
    listing.answer(f"{tmp_path}/none.db", ["list"])
  assert not (tmp_path / "none.db").exists()


def test_check_names_what_is_wrong(graph):
  graph.append(case(1.0))
  graph.database.execute("UPDATE ranks SET score = 9")
  with pytest.raises(ValueError, match="expected score 1, got 9"):
    listing.answer(graph.path, ["check"])
