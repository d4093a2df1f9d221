import numpy as np
import pytest

from jaxkern.agent.graph import Graph
from jaxkern.agent.policy_proposer import PolicyProposer
from jaxkern.agent.search import optimise
from jaxkern.agent.settings import Budget, Settings
from jaxkern.agent.subject import of_task
from jaxkern.models.policy import Policy, Sampled
from jaxkern.rollout import prompts
from jaxkern.rollout.collect import Sampler
from jaxkern.tasks import suite
from jaxkern.tokenizer import Tokenizer
from tests.agent.fake import SUBJECT, FakeEvaluator
from tests.agent.forest import case

RELU = suite.get("relu")


@pytest.fixture(scope="module")
def tokenizer():
  texts = [suite.get(n).baseline for n in suite.names("train")[:20]]
  return Tokenizer.train(texts, 400)


def proposer_of(tokenizer, written, lengths=(64, 2048), seen=None):
  """A policy that writes this, and notes what it was asked."""
  answers = [tokenizer.encode(w) for w in written]
  asked = [] if seen is None else seen

  def sample(params, keys, tokens, mask, temperature):
    for row, kept in zip(np.asarray(tokens), np.asarray(mask), strict=True):
      asked.append(tokenizer.decode(row[kept > 0]))
    length = max(map(len, answers))
    made = np.full((len(tokens), length), tokenizer.pad_id, np.int32)
    ones = np.zeros((len(tokens), length), np.float32)
    for b in range(len(tokens)):
      answer = answers[b % len(answers)]
      made[b, : len(answer)], ones[b, : len(answer)] = answer, 1
    return Sampled(made, ones, np.zeros_like(ones), None)

  policy = Policy(init=None, sample=sample, log_probs=None)
  sampler = Sampler(policy, None, tokenizer, lengths, 2, 1.0)
  return PolicyProposer(sampler, "fake")


def search(graph, proposer, speedups, subject=None, evaluations=3, **settings):
  subject = subject or of_task(RELU)
  return optimise(
    subject,
    proposer,
    FakeEvaluator({subject.start: 1.0, **speedups}),
    graph,
    Settings("s", parallel=2, **settings),
    Budget(evaluations),
  )


def test_its_kernels_are_judged_and_its_tokens_counted(tokenizer):
  seen = []
  proposer = proposer_of(tokenizer, ["int a;", "int b;"], seen=seen)
  with Graph(":memory:") as graph:
    progress = search(graph, proposer, {"int b;": 2.0}, arm="none")
    cases = list(graph.select("WHERE step > 0"))
  assert [c.source for c in cases] == ["int a;", "int b;"]
  assert progress.best.source == "int b;"
  assert cases[0].tokens_in == len(tokenizer.encode(prompts.first_turn(RELU)))
  assert cases[0].tokens_out == len(tokenizer.encode("int a;"))
  assert seen[0] == tokenizer.decode(tokenizer.encode(prompts.first_turn(RELU)))


def test_experience_stands_in_front_of_the_task(tokenizer):
  seen = []
  proposer = proposer_of(tokenizer, ["int a;"], seen=seen)
  with Graph(":memory:") as graph:
    graph.append(case(3.0, task="relu", thought="wide loads help"))
    search(graph, proposer, {})
  assert seen[0].startswith("[relu on cpu]")
  assert "wide loads help" in seen[0]
  assert RELU.summary in seen[0]


def test_a_failure_is_shown_as_in_training(tokenizer):
  seen = []
  proposer = proposer_of(tokenizer, ["int a;"], seen=seen)
  subject = of_task(RELU)._replace(start="")
  with Graph(":memory:") as graph:
    search(graph, proposer, {}, subject, 4, arm="none")
  said = "line 1: error: no"
  expected = prompts.next_turn(RELU, "int a;", "compile_error", said)
  assert seen[-1] == tokenizer.decode(tokenizer.encode(expected))


def test_nothing_written_is_a_fault(tokenizer):
  proposer = proposer_of(tokenizer, [" "])
  with Graph(":memory:") as graph:
    progress = search(graph, proposer, {})
  assert progress.statuses["malformed_answer"] == 8


def test_a_bundle_is_refused(tokenizer):
  proposer = proposer_of(tokenizer, ["int a;"])
  with Graph(":memory:") as graph:
    with pytest.raises(ValueError, match="a policy needs a task"):
      search(graph, proposer, {}, SUBJECT)
