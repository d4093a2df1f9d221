"""Sampling ahead: whose parameters, when, and that it can be resumed."""

import threading

import chex
import jax
import numpy as np
import pytest
import small_loop
from small_loop import OPTIONS, evaluate

from jaxkern.training import rl
from jaxkern.training.ahead import Ahead, in_turns
from jaxkern.training.checkpoint import Checkpoints
from jaxkern.training.metrics import Metrics, read


@pytest.fixture(scope="module")
def sampler():
  return small_loop.make_sampler()


def train(sampler, directory, steps, staleness, judge=evaluate):
  with Metrics(
    directory, resume={"rl": Checkpoints.latest(directory / "rl")}
  ) as metrics:
    return rl.train(
      sampler,
      ["relu", "tanh", "silu"],
      judge,
      directory / "rl",
      metrics,
      **OPTIONS
      | {"steps": steps, "staleness": staleness, "learning_rate": 0.1},
    )


@pytest.mark.parametrize("staleness", [0, 1, 3])
def test_results_come_in_the_order_in_which_calls_were_begun(staleness):
  with Ahead(lambda a, b: (a, b), staleness) as ahead:
    for i in range(staleness + 1):
      ahead.begin(i, str(i))
    assert [ahead.take() for _ in range(staleness + 1)] == [
      (i, str(i)) for i in range(staleness + 1)
    ]


def test_without_staleness_nothing_happens_before_it_is_asked_for():
  done = []
  with Ahead(done.append, 0) as ahead:
    ahead.begin(1)
    assert done == []
    ahead.take()
  assert done == [1]


def test_what_goes_wrong_is_raised_when_it_is_taken():
  def fail(_):
    raise ValueError("no verdict")

  with Ahead(fail, 1) as ahead:
    ahead.begin(1)
    with pytest.raises(ValueError, match="no verdict"):
      ahead.take()


def test_one_thread_samples_at_a_time(sampler):
  busy, most = [], []

  def stream(*arguments):
    busy.append(1)
    most.append(len(busy))
    yield arguments
    busy.pop()

  policy = in_turns(sampler.policy._replace(stream=stream))
  threads = [
    threading.Thread(target=lambda: list(policy.stream(1))) for _ in range(8)
  ]
  for thread in threads:
    thread.start()
  for thread in threads:
    thread.join()
  assert most == [1] * 8


@pytest.mark.parametrize("staleness", [1, 2])
def test_a_resumed_run_that_samples_ahead_takes_the_identical_steps(
  sampler, staleness, tmp_path
):
  whole = train(sampler, tmp_path / "whole", 5, staleness)
  for steps in (1, 3, 5):
    parts = train(sampler, tmp_path / "parts", steps, staleness)
  chex.assert_trees_all_equal(parts, whole)
  names = ("pass@1", "pass@2", "loss", "sampler_mismatch")
  recorded = [
    [
      [line.get(name) for name in names]
      for line in read(tmp_path / directory / "metrics.jsonl")
    ]
    for directory in ("whole", "parts")
  ]
  assert len(recorded[0]) == 5 and recorded[0] == recorded[1]


def test_a_step_is_sampled_by_parameters_as_old_as_asked_for(sampler, tmp_path):
  kept = []

  def sample(params, *arguments, **options):
    """Keeps whose parameters are used."""
    kept.append(jax.tree.leaves(params)[0])
    return sampler.policy.sample(params, *arguments, **options)

  policy = sampler.policy._replace(sample=sample, stream=None)
  train(sampler._replace(policy=policy), tmp_path, 3, staleness=1)
  with Checkpoints(tmp_path / "rl") as checkpoints:
    states = [checkpoints.restore(None, k)[1]["params"] for k in (1, 2, 3)]
  first, second, _ = (jax.tree.leaves(params)[0] for params in states)
  used = [np.asarray(leaf) for leaf in kept]
  start = np.asarray(jax.tree.leaves(sampler.params)[0])
  # Steps 0 and 1 by the beginning's, step 2 by those after step 0.
  for leaf in used:
    assert (leaf == start).all() or (leaf == np.asarray(first)).all()
    assert not (leaf == np.asarray(second)).all()
  assert any((leaf == np.asarray(first)).all() for leaf in used)
  lines = read(tmp_path / "metrics.jsonl")
  assert [line["staleness"] for line in lines] == [0, 1, 1]
  # What the loss corrects for: on policy arithmetic alone, then an update.
  assert lines[0]["sampler_mismatch"] < 1e-4 < lines[1]["sampler_mismatch"]


def test_the_next_step_is_sampled_while_this_ones_kernels_are_judged(
  sampler, tmp_path
):
  next_is_here = threading.Event()
  calls = []

  def slow(pairs):
    """The first step's verdicts come when the second step has been sampled."""
    pairs = list(pairs)
    calls.append(len(pairs))
    if len(calls) == 1:
      assert next_is_here.wait(60), "the next step was not sampled meanwhile"
    else:
      next_is_here.set()
    return evaluate(pairs)

  train(sampler, tmp_path, 2, staleness=1, judge=slow)
  assert len(read(tmp_path / "metrics.jsonl")) == 2


@pytest.mark.parametrize("staleness", [0, 1])
def test_the_seconds_of_a_step_are_there(sampler, staleness, tmp_path):
  train(sampler, tmp_path, 2, staleness)
  for line in read(tmp_path / "metrics.jsonl"):
    names = ("sampling", "evaluating", "compiling", "queueing", "running")
    for name in (*names, "updating", "waiting", "step"):
      assert line[f"seconds_{name}"] >= 0
    both = line["seconds_waiting"] + line["seconds_updating"]
    assert line["seconds_step"] == pytest.approx(both)
    if not staleness:
      spent = line["seconds_sampling"] + line["seconds_evaluating"]
      assert line["seconds_waiting"] >= spent
