"""The evaluator in a step: nothing is built twice, nobody waits for ever."""

import time

import bank
import jax
import pytest

from jaxkern.evaluator import Evaluator, Request
from jaxkern.rollout import collect
from jaxkern.tasks import suite

DEADLINE_S = 10.0  # Honest compilers need it on a busy machine.


@pytest.fixture
def evaluator(tmp_path):
  with Evaluator(
    "cpu", compile_workers=2, cache_dir=tmp_path / "cache"
  ) as evaluator:
    yield evaluator


def step(evaluator, sources, group_size, turns=1):
  """A step's group, of kernels out of a bank."""

  def evaluate(pairs):
    return evaluator.evaluate(
      Request(task, source, compile_timeout_s=DEADLINE_S)
      for task, source in pairs
    )

  [group], seconds = collect.collect(
    bank.make_sampler(sources),
    jax.random.key(0),
    [suite.get("relu")],
    evaluate,
    group_size=group_size,
    turns=turns,
    gate=lambda failures: True,
  )
  return group, seconds


def test_equal_completions_of_a_group_are_built_and_run_once(evaluator):
  sources = [bank.RIGHT, bank.WRONG]
  group, seconds = step(evaluator, sources, group_size=8)
  written = [rollout.turns[0].source for rollout in group]
  assert set(written) == set(sources) and len(written) == 8
  stats = evaluator.stats()
  assert stats["results"] == 2
  assert stats["cache_misses"] == 2
  by_source = {r.turns[0].source: r.turns[0].result for r in group}
  assert seconds.compiling == pytest.approx(
    sum(result.compile_s for result in by_source.values())
  )
  assert by_source[bank.RIGHT].status == "ok"
  assert by_source[bank.WRONG].status == "wrong_answer"


def test_the_slowest_compile_stalls_nobody_beyond_its_deadline(evaluator):
  others = bank.distinct(bank.RIGHT, 2)
  start = time.monotonic()
  group, seconds = step(evaluator, [bank.SLOW, *others], group_size=16)
  spent = time.monotonic() - start - seconds.sampling
  statuses = {r.turns[0].source: r.turns[0].result.status for r in group}
  [slow] = {r.turns[0].result for r in group if r.turns[0].source == bank.SLOW}
  assert (slow.status, slow.stage) == ("timeout", "compile")
  assert {statuses[source] for source in others} == {"ok"}
  # One of two compilers is held up; the other builds the rest meanwhile.
  assert spent < DEADLINE_S + 10
  waited = {r.turns[0].source: r.turns[0].result.queue_s for r in group}
  assert max(waited[source] for source in others) < DEADLINE_S
