"""What a whole group failed comes back as a repair, also after a kill."""

from types import SimpleNamespace

import chex
import numpy as np
import pytest
import small_loop
from small_loop import CONFIG, OPTIONS, evaluate

from jaxkern.rollout.collect import Rollout, Turn
from jaxkern.training import retries, rl, run
from jaxkern.training.checkpoint import Checkpoints
from jaxkern.training.metrics import Metrics, read
from jaxkern.training.retries import Failed, Journal

BUFFER = {"capacity": 8, "probability": 0.75}


@pytest.fixture(scope="module")
def sampler():
  return small_loop.make_sampler()


def rollout(*statuses):
  turns = [
    Turn(
      *([1], None, None, None, ()),
      f"source {k}",
      SimpleNamespace(status=status, log=f"log {k}"),
    )
    for k, status in enumerate(statuses)
  ]
  return Rollout("relu", tuple(turns))


def test_a_group_is_kept_if_all_failed_and_with_its_last_attempt():
  groups = [
    [rollout("timeout", "wrong_answer"), rollout("timeout")],
    [rollout("timeout"), rollout("timeout", "ok")],
    [rollout("timeout"), rollout("infra_error")],
  ]
  assert retries.all_failed(groups, 7) == [
    Failed(7, "relu", "source 1", "wrong_answer", "log 1")
  ]


def failed(count):
  return [Failed(i, "relu", f"source {i}", "timeout", "") for i in range(count)]


def serve(known, **options):
  options = {"seed": 0, "capacity": 4, "probability": 0.25} | options
  return retries.served(known, 1, 4000, **options)


def test_the_last_that_failed_are_served_with_a_small_probability():
  found = [one for one in serve(failed(10)) if one]
  assert len(found) == pytest.approx(1000, rel=0.1)
  counts = np.bincount([one.step for one in found], minlength=10)
  assert not counts[:6].any()  # Of before, and pushed out.
  np.testing.assert_allclose(counts[6:], 250, rtol=0.25)


@pytest.mark.parametrize(
  ("known", "options"),
  [
    ([], {}),
    (failed(3), {"probability": 0.0}),
    (failed(3), {"capacity": 0}),
  ],
)
def test_nothing_is_served_of_nothing(known, options):
  assert serve(known, **options) == [None] * 4000


def test_a_step_is_served_the_same_again():
  assert serve(failed(5)) == serve(failed(5))
  assert serve(failed(5)) != serve(failed(5), seed=1)


def test_the_journal_forgets_steps_that_will_be_taken_again(tmp_path):
  path = tmp_path / "failed.jsonl"
  Journal(path, 0).add(failed(3))
  assert Journal(path, 3).before(3) == failed(3)
  again = Journal(path, 2)
  assert again.before(9) == failed(2) and again.before(1) == failed(1)
  again.add([Failed(2, "tanh", "", "timeout", "")])
  assert [one.task for one in Journal(path, 9).before(9)] == [
    *["relu"] * 2,
    "tanh",
  ]


def train(sampler, directory, steps, staleness=0):
  prompts = []

  def sample(params, keys, tokens, *arguments, **options):
    """Keeps what is read."""
    prompts.extend(sampler.tokenizer.decode(row) for row in np.asarray(tokens))
    return sampler.policy.sample(params, keys, tokens, *arguments, **options)

  def judge(pairs):
    """Nobody passes tanh."""
    pairs = list(pairs)
    results = evaluate(pairs)
    for (task, _), result in zip(pairs, results, strict=True):
      if task.name == "tanh":
        result.status = "wrong_answer"
    return results

  policy = sampler.policy._replace(sample=sample, stream=None)
  with Metrics(
    directory, resume={"rl": Checkpoints.latest(directory / "rl")}
  ) as metrics:
    params = rl.train(
      sampler._replace(policy=policy),
      ["relu", "tanh", "silu"],
      judge,
      directory / "rl",
      metrics,
      **OPTIONS
      | {"steps": steps, "turns": 1, "retry": BUFFER, "staleness": staleness},
    )
  return params, prompts


def test_a_failed_group_comes_back_with_its_attempt_and_error(
  sampler, tmp_path
):
  _, prompts = train(sampler, tmp_path, steps=4)
  assert "odd lengths pass" not in "".join(prompts[:2])
  repaired = [p for p in prompts[2:] if "wrong_answer\nodd lengths" in p]
  assert repaired and all("jax.nn.tanh" in p or "tanh" in p for p in repaired)
  lines = read(tmp_path / "metrics.jsonl")
  assert sum(line["groups_retried"] for line in lines) == len(repaired)
  assert lines[0]["groups_retried"] == 0


@pytest.mark.parametrize("staleness", [0, 1])
def test_a_resumed_run_is_served_the_same(sampler, staleness, tmp_path):
  whole, _ = train(sampler, tmp_path / "whole", 4, staleness)
  for steps in (1, 3, 4):
    parts, _ = train(sampler, tmp_path / "parts", steps, staleness)
  chex.assert_trees_all_equal(parts, whole)
  names = ("pass@1", "groups_retried")
  recorded = [
    [[line[name] for name in names] for line in read(d / "metrics.jsonl")]
    for d in (tmp_path / "whole", tmp_path / "parts")
  ]
  assert recorded[0] == recorded[1]
  assert any(retried for _, retried in recorded[0])


def test_musacoder_alone_has_a_buffer_by_default():
  assert run.rl_options(CONFIG.get_config("tiny"))["retry"] is None
  options = run.rl_options(CONFIG.get_config("tiny-musacoder"))
  assert options["retry"] == {"capacity": 64, "probability": 0.1}
  config = CONFIG.get_config("tiny")
  config.rl.retry.probability = 2.0
  with pytest.raises(ValueError, match="probability from 0 to 1, got 0 and 2"):
    run.rl_options(config)
