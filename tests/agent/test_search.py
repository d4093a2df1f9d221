import pytest

from jaxkern.agent import context, graph_files
from jaxkern.agent.builtin import Builtin
from jaxkern.agent.context import Window
from jaxkern.agent.graph import Graph
from jaxkern.agent.proposer import Proposal, digest
from jaxkern.agent.search import optimise
from jaxkern.agent.settings import Budget, Settings
from jaxkern.agent.subject import of_task
from jaxkern.evaluator import Evaluator
from jaxkern.tasks import suite
from tests.agent.fake import SUBJECT, FakeEvaluator, Scripted
from tests.agent.forest import case

LONG = Budget(50)


@pytest.fixture
def graph():
  with Graph(":memory:") as made:
    yield made


def run(graph, speedups, sources, budget=LONG, show=None, **settings):
  evaluator = FakeEvaluator({"naive": 1.0, **speedups})
  proposer = Scripted(sources)
  settings = Settings(**{"session": "s", "parallel": 2, **settings})
  progress = optimise(
    SUBJECT,
    proposer,
    evaluator,
    graph,
    settings,
    budget,
    show or (lambda p: None),
  )
  return progress, evaluator, proposer


def test_every_attempt_is_recorded_and_the_fastest_right_one_is_best(graph):
  progress, _, _ = run(graph, {"a": 2.0, "b": 0, "c": 3.0}, "abcd")
  assert progress.best.source == "c"
  assert progress.speedup == pytest.approx(3.0)
  assert [(c.source, c.status) for c in graph.select()] == [
    ("naive", "ok"),
    ("a", "ok"),
    ("b", "wrong_answer"),
    ("c", "ok"),
    ("d", "compile_error"),
  ]
  assert graph_files.check(graph) == []


def test_a_case_keeps_its_predecessor_diff_gain_and_message(graph):
  run(graph, {"a": 2.0, "c": 3.0}, "axcd")
  naive, a, x, c, _ = graph.select()
  assert (a.prev, c.prev) == (naive.id, a.id)
  assert (a.gain, c.gain) == (2.0, 1.5)
  assert "-naive\n+a" in a.diff
  assert (x.label, x.feedback) == ("negative", "line 1: error: no")


def test_a_failed_case_never_becomes_the_incumbent(graph):
  progress, _, _ = run(graph, {"a": 0, "b": 0}, "ab")
  assert progress.best.source == "naive"
  assert progress.speedup == 1


def test_a_challenger_that_is_not_faster_again_is_not_promoted(graph):
  """It was timed 5x by luck; beside the incumbent it is 0.9x."""
  progress, evaluator, _ = run(graph, {"a": [5.0, 0.9]}, "a")
  assert progress.best.source == "naive"
  assert evaluator.seen.count("a") == evaluator.seen.count("naive") == 4
  assert progress.retimings == 6


def test_one_that_fails_when_timed_again_is_not_promoted(graph):
  progress, _, _ = run(graph, {"a": [5.0, 0, 5.0]}, "a")
  assert progress.best.source == "naive"


@pytest.mark.parametrize(
  ("budget", "reason"),
  [
    (Budget(4), "4 evaluations"),
    (Budget(0, tokens=50), "60 tokens"),
    (Budget(0, seconds=1e-9), "0 seconds"),
  ],
)
def test_a_budget_ends_the_search(graph, budget, reason):
  sources = [Proposal(f"s{k}", tokens_in=20, tokens_out=10) for k in range(30)]
  progress, _, _ = run(graph, {}, sources, budget)
  assert progress.stopped == reason


def test_the_last_round_keeps_to_the_budget(graph):
  progress, evaluator, _ = run(graph, {}, "abcdefgh", Budget(4), parallel=3)
  assert progress.evaluations == 4
  assert evaluator.batches == [1, 3]


def test_a_search_that_was_stopped_goes_on(graph):
  run(graph, {"a": 2.0}, "ab", Budget(3))
  progress, evaluator, proposer = run(
    graph, {"a": 2.0, "c": 4.0}, "cd", Budget(5)
  )
  assert progress.evaluations == 5
  assert "naive" not in evaluator.seen[:1]
  assert proposer.wishes[0].parent.source == "a"
  assert progress.best.source == "c"
  assert [c.step for c in graph.select()] == list(range(5))


def test_faults_of_a_proposer_are_cases_and_end_a_search_in_the_end(graph):
  faults = [
    Proposal("", strategy="answer", fault="server_error", said=f"500, try {k}")
    for k in range(40)
  ]
  progress, evaluator, _ = run(graph, {}, faults)
  assert evaluator.seen == ["naive"]
  assert "8 times in a row" in progress.stopped
  assert progress.evaluations == 1
  assert next(graph.select("WHERE step = 3")).status == "server_error"


def test_without_a_start_the_proposer_drafts(graph):
  evaluator, proposer = FakeEvaluator({"b": 1.5}), Scripted("abc")
  subject = SUBJECT._replace(start="")
  progress = optimise(
    subject, proposer, evaluator, graph, Settings("s", parallel=1), Budget(3)
  )
  assert proposer.wishes[0].parent is None
  assert proposer.wishes[1].parent.source == "a"  # To repair it.
  assert progress.best.source == "b"


def test_the_journal_says_what_was_promoted_and_learnt(graph):
  run(graph, {"a": 2.0}, "a")
  kinds = [(e.kind, e.text) for e in graph.journal("s")]
  assert ("promoted", "2x: 1x before, timed together") in kinds
  assert ("learnt", "2x by start -> write a") in kinds
  assert kinds[-1] == ("ended", "the proposer has no more")


def test_sources_tried_by_others_in_vain_are_known(graph):
  graph.append(case(0, task="scale", source="bad"))
  graph.append(case(0, task="scale", source="gpu", device="cuda"))
  _, _, proposer = run(graph, {}, "ab")
  assert digest("bad") in proposer.wishes[0].tried
  assert digest("gpu") not in proposer.wishes[0].tried


def test_prompts_are_packed_and_their_composition_stored(graph):
  graph.append(case(2.0, task="scale", thought="wider loads"))
  proposer = Scripted("ab")
  proposer.window = Window(400, 50)
  evaluator = FakeEvaluator({"naive": 1.0})
  optimise(SUBJECT, proposer, evaluator, graph, Settings("s"), Budget(3))
  prompt = proposer.wishes[0].prompt
  assert "wider loads" in prompt.text
  assert prompt.tokens <= prompt.budget
  rows = graph.database.execute(
    'SELECT kind, "case" FROM prompt_items WHERE prompt = 1'
  ).fetchall()
  assert {kind for kind, _ in rows} >= {"task", "incumbent", "target", "case"}
  assert prompt.cases == [c for kind, c in rows if kind == "case"]


def test_hot_that_does_not_fit_ends_the_search_with_an_error(graph):
  proposer = Scripted("ab")
  proposer.window = Window(10, 5)
  with pytest.raises(context.HotDoesNotFit, match="more than the 5"):
    optimise(
      SUBJECT,
      proposer,
      FakeEvaluator({"naive": 1}),
      graph,
      Settings("s"),
      Budget(3),
    )


def test_the_built_in_proposer_finds_a_faster_kernel_and_repeats_nothing(graph):
  subject = of_task(suite.get("mlp_swiglu_f32"))
  settings = Settings("s", parallel=8, repetitions=10)
  with Evaluator("cpu") as evaluator:
    progress = optimise(
      subject, Builtin(), evaluator, graph, settings, Budget(9)
    )
  assert progress.speedup > 1.2
  assert progress.best.ok
  sources = [c.source for c in graph.select()]
  assert len(sources) == len(set(sources)) == 9


def test_experience_makes_the_first_proposals_better(graph):
  """What worked on a like task is tried first, and its moves kept."""
  root = graph.append(
    case(1.0, task="linear_gelu_f32", family="matmul", strategy="start")
  )
  graph.append(
    case(
      9.0,
      root.id,
      task="linear_gelu_f32",
      family="matmul",
      strategy="restrict, rows:16",
    )
  )
  subject = of_task(suite.get("gated_linear_f32"))
  proposer, evaluator = Builtin(), FakeEvaluator({subject.start: 1.0})
  optimise(
    subject, proposer, evaluator, graph, Settings("t", parallel=4), Budget(5)
  )
  first = next(graph.select("WHERE session = 't' AND step = 1"))
  assert first.strategy == "restrict, rows:16"
