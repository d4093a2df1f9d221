import numpy as np
import pytest

from jaxkern.agent import arms, embedding
from jaxkern.agent.graph import Graph
from jaxkern.agent.retrieval import Query, retrieve
from tests.agent.forest import case


@pytest.fixture
def graph():
  with Graph(":memory:") as made:
    yield made


def found(graph, embedder=None, limit=32, **query):
  query = Query(**{"task": "softmax_f16", "family": "softmax", **query})
  return [f.case for f in retrieve(graph, query, limit, embedder)]


def test_the_own_task_comes_before_its_family_and_that_before_others(graph):
  other = graph.append(case(9.0, task="adam_f32", family="optimisers"))
  family = graph.append(case(9.0, task="softmax_bf16"))
  own = graph.append(case(1.0))
  assert found(graph) == [own, family, other]


def test_other_devices_come_second_and_can_be_left_out(graph):
  gpu = graph.append(case(9.0, device="cuda"))
  cpu = graph.append(case(1.0))
  assert found(graph) == [cpu, gpu]
  assert found(graph, device="cuda") == [gpu, cpu]
  assert found(graph, across=False) == [cpu]


def test_of_equal_relevance_the_score_decides(graph):
  root = graph.append(case(1.0))
  good = graph.append(case(3.0, root.id))
  best = graph.append(case(4.0, root.id))
  assert found(graph)[:2] == [best, good]


def test_failures_are_found_too_and_labels_choose(graph):
  root = graph.append(case(1.0))
  bad = graph.append(case(0, root.id))
  assert bad in found(graph)
  assert found(graph, labels=("failed",)) == [bad]


def test_rare_words_find_cases_elsewhere(graph):
  for k in range(30):
    graph.append(case(1.0, task=f"t{k}", family="f", feedback="bank conflict"))
  wanted = graph.append(
    case(0.0, task="t99", family="f", feedback="misaligned address float4")
  )
  shown = found(graph, text="error: misaligned address", limit=3)
  assert wanted in shown


def test_words_too_common_to_tell_apart_are_left_out(graph, monkeypatch):
  monkeypatch.setattr("jaxkern.agent.retrieval.RARE", 2)
  for k in range(20):
    graph.append(case(1.0, task=f"t{k}", family="f", feedback="common"))
  scopes = {
    f.scope
    for f in retrieve(graph, Query("x", "y", "cuda", "common", across=False))
  }
  assert scopes == set()


def test_signs_in_a_text_are_no_query_syntax(graph):
  graph.append(case(1.0, feedback='a "quoted" NEAR( * thing'))
  assert found(graph, text='x"; DROP -- NEAR( * quoted thing')


class Meaning:
  """Vectors by hand: softmax and attention are alike."""

  name = "by hand"

  def __init__(self):
    self.calls = 0

  def __call__(self, text):
    self.calls += 1
    alike = "softmax" in text or "attention" in text
    return np.array([1, 0] if alike else [0, 1], np.float32)


def test_meaning_finds_like_tasks_and_vectors_are_kept(graph):
  for k in range(8):
    graph.append(case(3.0, task=f"adam{k}", family="o", device="cuda"))
  wanted = graph.append(
    case(1.1, task="attention_f32", family="attention", device="cuda")
  )
  meaning = Meaning()
  assert found(graph, meaning)[0] == wanted
  calls = meaning.calls
  found(graph, meaning)
  assert meaning.calls == calls + 1  # The query alone.


def test_the_limit_holds(graph):
  for k in range(40):
    graph.append(case(1.0 + k))
  assert len(found(graph, limit=5)) == 5


@pytest.mark.skipif(embedding.find() is None, reason="no encoder installed")
def test_the_encoder_tells_alike_from_unlike():
  embed = embedding.find()
  a, b, c = map(
    embed, ("softmax over rows", "row-wise softmax", "adam optimiser step")
  )
  assert np.linalg.norm(a) == pytest.approx(1, abs=1e-5)
  assert a @ b > 0.6 > a @ c


def test_a_directory_without_an_encoder_is_refused(tmp_path):
  with pytest.raises(ValueError, match="embedder: expected"):
    embedding.Embedder(tmp_path)


def test_arms_show_what_they_say(graph):
  root = graph.append(case(1.0))
  graph.append(case(2.0, root.id))
  graph.append(case(5.0, task="adam_f32", family="optimisers"))
  query = Query("softmax_f16", "softmax")
  shown = {a: arms.select(graph, a, query) for a in arms.ARMS}
  assert shown["none"] == shown["passive"] == []
  assert len(shown["everything"]) == 3
  assert shown["everything"][0].case.task == "softmax_f16"
  assert len(shown["active"]) == len(shown["flat"]) == 3
  with pytest.raises(ValueError, match="arm: expected one of active"):
    arms.select(graph, "all", query)


def test_learnt_worth_moves_towards_what_came_of_it(graph):
  made = graph.append(case(1.0))
  arms.learn(graph, [made.id], "draft", 2.0)
  assert arms.utility(graph, made.id, "draft") == pytest.approx(1.3)
  arms.learn(graph, [made.id], "draft", 2.0)
  assert arms.utility(graph, made.id, "draft") == pytest.approx(1.51)
  assert arms.utility(graph, made.id, "refine") == 1.0


def test_learnt_worth_orders_cases(graph):
  one = graph.append(case(1.0))
  two = graph.append(case(1.0))
  arms.learn(graph, [two.id], "refine", 3.0)
  query = Query("softmax_f16", "softmax")
  assert [f.case for f in arms.select(graph, "utility", query)] == [two, one]
