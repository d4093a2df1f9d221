"""The corpus: what is proposed, and that only what holds is kept."""

import collections
import json
from typing import NamedTuple

import pytest

from jaxkern.data import corpus
from jaxkern.evaluator import Evaluator
from jaxkern.tasks import suite

TRAIN = suite.names("train")


class Verdict(NamedTuple):
  status: str
  log: str = ""


class FakeEvaluator:
  """Refuses what `wrong` says, and counts what it is asked."""

  def __init__(self, wrong):
    self.wrong = wrong
    self.asked = []

  def evaluate(self, requests):
    self.asked += [r.source for r in requests]
    return [
      Verdict("wrong_answer", "off by 1")
      if self.wrong(r.source)
      else Verdict("ok")
      for r in requests
    ]


def small(count, task="row_sum_int32"):
  return corpus.propose([task], seed=0, count=count)


def attempts(proposals):
  return {p.attempt for p in proposals if p.attempt}


def test_proposals_are_deterministic_and_distinct():
  proposals = corpus.propose(TRAIN, seed=3, count=700)
  assert proposals == corpus.propose(TRAIN, seed=3, count=700)
  assert proposals[:100] == corpus.propose(TRAIN, seed=3, count=100)
  assert proposals != corpus.propose(TRAIN, seed=4, count=700)
  assert len({(p.task, p.source) for p in proposals}) == 700


def test_proposals_are_balanced_over_training_tasks_alone():
  proposals = corpus.propose(TRAIN, seed=0, count=700)
  counts = collections.Counter(p.task for p in proposals)
  assert set(counts) == set(TRAIN)
  assert max(counts.values()) - min(counts.values()) <= 1
  assert min(counts.values()) >= 5
  repairs = collections.Counter(p.task for p in proposals if p.attempt)
  assert set(repairs) == set(TRAIN)
  assert 0.3 <= repairs.total() / 700 <= 0.37
  assert all(p.attempt != p.source for p in proposals)


@pytest.mark.parametrize(
  ("names", "count", "message"),
  [
    ([], 1, "task_names: expected at least one task"),
    (["add_gelu"], 1, "task_names: add_gelu is a test task"),
    (["ad"], 1, "no task is named 'ad'"),
    (["row_sum_int32"], 10_000, "no further distinct kernel"),
  ],
)
def test_propose_refuses_what_it_cannot_do(names, count, message):
  with pytest.raises(ValueError, match=message):
    corpus.propose(names, 0, count)


def test_only_what_the_evaluator_confirms_is_kept(tmp_path):
  proposals = small(6)
  refused = proposals[1].source
  right_after_all = proposals[0].attempt
  bad = (attempts(proposals) - {right_after_all}) | {refused}
  path = tmp_path / "corpus.jsonl"
  evaluator = FakeEvaluator(lambda source: source in bad)
  examples = corpus.verify(proposals, evaluator, path, progress=False)
  assert [e.source for e in examples] == [
    p.source for p in proposals if p.source != refused
  ]
  assert examples[0].attempt is None and examples[0].status is None
  repair = next(e for e in examples if e.attempt)
  assert repair == (
    "row_sum_int32",
    proposals[3].source,
    proposals[3].attempt,
    "wrong_answer",
    "off by 1",
  )
  assert corpus.load(path) == examples


def test_infra_error_says_nothing_about_a_kernel(tmp_path):
  proposals = small(3)

  class Broken(FakeEvaluator):
    def evaluate(self, requests):
      return [Verdict("infra_error")] * len(requests)

  path = tmp_path / "c.jsonl"
  assert corpus.verify(proposals, Broken(None), path, progress=False) == []
  assert corpus.load(path) == []


def test_verification_continues_after_a_kill(tmp_path):
  proposals = small(6)
  path = tmp_path / "corpus.jsonl"
  bad = attempts(proposals)
  whole = corpus.verify(
    proposals, FakeEvaluator(bad.__contains__), path, progress=False
  )
  lines = path.read_text().splitlines(keepends=True)
  path.write_text("".join(lines[:2]) + lines[2][:40])  # Killed in line three.
  evaluator = FakeEvaluator(bad.__contains__)
  again = corpus.verify(proposals, evaluator, path, progress=False)
  assert again == whole
  assert not {p.source for p in proposals[:2]} & set(evaluator.asked)
  assert proposals[2].source in evaluator.asked
  lines = path.read_text().splitlines()
  assert [json.loads(line)["source"] for line in lines] == [
    p.source for p in proposals
  ]


def test_progress_tells_how_much_is_left(tmp_path, capsys):
  corpus.verify(small(2), FakeEvaluator(lambda s: False), tmp_path / "c")
  assert "verifying kernels: 100%" in capsys.readouterr().err


@pytest.mark.parametrize("seed", [0])
def test_real_evaluator_agrees_with_a_sample(tmp_path, seed):
  proposals = corpus.propose(TRAIN, seed, len(TRAIN))
  evaluator = Evaluator(device="cpu")
  path = tmp_path / "corpus.jsonl"
  examples = corpus.verify(proposals, evaluator, path, progress=False)
  assert [tuple(e[:2]) for e in examples] == [tuple(p[:2]) for p in proposals]
  # A softmax may survive a wrong maximum: what is subtracted cancels.
  survived = [
    p.task
    for p, e in zip(proposals, examples, strict=True)
    if p.attempt != e.attempt
  ]
  assert set(survived) <= {"softmax", "log_softmax"} and len(survived) <= 1
