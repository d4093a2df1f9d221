"""The plumbing of a model behind an endpoint, whatever the model does."""

import pathlib

import pytest

from jaxkern.agent.endpoint import Endpoint
from jaxkern.agent.graph import Graph
from jaxkern.agent.search import optimise
from jaxkern.agent.settings import Budget, Settings
from jaxkern.agent.subject import of_task
from jaxkern.evaluator import Evaluator
from jaxkern.tasks import suite
from tests.agent import server as servers
from tests.agent.fake import SUBJECT, FakeEvaluator
from tests.agent.server import KERNEL, fails, says, serving

SOURCE = "int launch() { return 0; }\n"
KEY = "sk-very-secret-0123456789"


@pytest.fixture
def graph(tmp_path):
  with Graph(tmp_path / "experience.db") as made:
    yield made


def search(graph, server, evaluations=2, tries=2, parallel=1, **settings):
  slept = []
  endpoint = Endpoint(
    server.url, "m", KEY, timeout_s=0.5, tries=tries, sleep=slept.append
  )
  settings = Settings("s", parallel=parallel, **settings)
  progress = optimise(
    SUBJECT,
    endpoint,
    FakeEvaluator({"naive": 1.0, SOURCE: 2.0}),
    graph,
    settings,
    Budget(evaluations),
  )
  endpoint.close()
  return progress, slept


def test_a_kernel_is_streamed_read_and_judged(graph):
  usage = {"prompt_tokens": 70, "completion_tokens": 9, "total_tokens": 79}
  with serving(says(KERNEL, usage=usage)) as server:
    progress, _ = search(graph, server)
  case = progress.best
  assert (case.source, case.strategy) == (SOURCE, "wider")
  assert (case.tokens_in, case.tokens_out) == (70, 9)
  assert progress.tokens == 79
  system, user = server.requests[0]["messages"]
  assert system["role"] == "system"
  assert "y = 2 x" in user["content"]
  assert "naive" in user["content"]


@pytest.mark.parametrize(
  ("broken", "status", "again"),
  [
    (fails(429, "slow down"), "rate_limited", True),
    (fails(500), "server_error", True),
    (fails(503), "server_error", True),
    (fails(400, "no such model"), "malformed_answer", False),
    (fails(400, "maximum context length"), "context_too_small", False),
    (says("I would rather not."), "malformed_answer", False),
    (says("STRATEGY: long\n```\nint lau", "length"), "truncated_answer", False),
    (servers.breaks_off, "connection_lost", True),
    (servers.stops_without_a_reason, "connection_lost", True),
    (servers.says_nothing, "answer_timeout", True),
    (servers.sends_no_json, "malformed_answer", False),
  ],
)
def test_what_breaks_is_a_case_and_the_search_goes_on(
  graph, broken, status, again
):
  with serving(broken, says(KERNEL)) as server:
    progress, slept = search(graph, server)
  cases = list(graph.select())
  assert [c.status for c in cases] == ["ok", status, "ok"]
  assert cases[1].feedback
  assert not cases[1].source
  assert bool(slept) == again
  assert progress.best.source == SOURCE


def test_a_server_says_how_long_to_wait_and_waits_grow(graph):
  slow = fails(429, "slow", [("retry-after", "7")])
  with serving(slow, fails(500), fails(500), says(KERNEL)) as server:
    _, slept = search(graph, server, tries=4)
  assert slept[0] == 7
  assert 2 <= slept[1] <= 3
  assert 4 <= slept[2] <= 6


def test_a_server_that_is_gone_ends_the_search(graph):
  with serving(says(KERNEL)) as server:
    pass
  progress, slept = search(graph, server)
  assert "8 times in a row" in progress.stopped
  assert progress.statuses["connection_lost"] == 8
  assert len(slept) == 4


def test_requests_at_once_fill_the_evaluator(graph):
  with serving(says(KERNEL)) as server:
    search(graph, server, evaluations=4, parallel=3)
  assert len(server.requests) == 3


def test_a_model_that_asks_is_told_what_is_known(graph):
  with serving(says("RECALL: wider loads"), says(KERNEL)) as server:
    progress, _ = search(graph, server, arm="passive")
  told = server.requests[1]["messages"]
  assert [m["role"] for m in told] == ["system", "user", "assistant", "user"]
  assert "start: 1.00x" in told[-1]["content"]
  assert progress.best.source == SOURCE


def test_a_question_without_the_passive_arm_is_no_kernel(graph):
  with serving(says("RECALL: wider loads"), says(KERNEL)) as server:
    search(graph, server)
  assert [c.status for c in graph.select()][1] == "malformed_answer"


def test_the_key_is_sent_and_nowhere_else(graph, tmp_path):
  with serving(
    servers.refuses_with_the_key, servers.repeats_the_key, says(KERNEL)
  ) as server:
    search(graph, server, evaluations=3)
  assert set(server.keys) == {f"Bearer {KEY}"}
  assert "[key]" in next(graph.select("WHERE step = 1")).feedback
  assert "[key]" in next(graph.select("WHERE step = 2")).source
  graph.database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
  for path in pathlib.Path(tmp_path).iterdir():
    assert KEY.encode() not in path.read_bytes()


@pytest.mark.parametrize(
  "body",
  [
    '#include "/etc/passwd"\nint x;',
    '#include <cstdlib>\nstatic int x = system("touch /tmp/escaped");',
    '#include <fstream>\nstd::ifstream f("/etc/passwd");',
  ],
)
def test_a_models_text_reads_no_files_and_runs_no_commands(
  graph, body, tmp_path
):
  """It is only ever judged, in the evaluator's sandbox."""
  subject = of_task(suite.get("relu"))
  evil = f"```\n{body}\n{subject.start}\n```"
  with serving(says(evil)) as server, Evaluator("cpu") as evaluator:
    endpoint = Endpoint(server.url, "m", tries=1)
    settings = Settings("s", parallel=1, repetitions=0)
    optimise(subject, endpoint, evaluator, graph, settings, Budget(2))
    endpoint.close()
  start, case = graph.select()
  assert start.ok
  assert not case.ok
  assert "root:" not in case.feedback
  assert not pathlib.Path("/tmp/escaped").exists()


def test_tokens_are_bounded_by_bytes_until_the_server_has_counted(graph):
  usage = {"prompt_tokens": 10_000, "completion_tokens": 9, "total_tokens": 1}
  with serving(says(KERNEL, usage=usage)) as server:
    endpoint = Endpoint(server.url, "m", tries=1)
    before = endpoint.count("x" * 100)
    optimise(
      SUBJECT,
      endpoint,
      FakeEvaluator({"naive": 1.0}),
      graph,
      Settings("s", parallel=1),
      Budget(2),
    )
    assert before == 41
    assert endpoint.count("x" * 100) > 200
    endpoint.close()
