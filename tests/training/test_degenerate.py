"""Groups that teach nothing, and what a run says of them."""

import json
import math

import bank
import jax
import numpy as np
import pytest
import small_loop
from small_loop import evaluate, options_of

from jaxkern.evaluator import Evaluator, Request
from jaxkern.training import comparison, comparison_page, report, rl
from jaxkern.training.metrics import Metrics, read

SETTINGS = ["leap", "dense", "single", "kevin", "musacoder", "murphy_max"]


@pytest.fixture(scope="module")
def sampler():
  return small_loop.make_sampler()


@pytest.fixture(scope="module")
def evaluator(tmp_path_factory):
  cache = tmp_path_factory.mktemp("cache")
  with Evaluator("cpu", compile_workers=2, cache_dir=cache) as evaluator:
    yield evaluator


def train(sampler, judge, directory, setting, size, tasks=("relu",)):
  """One step; its metrics. Parameters must be finite, and the pages render."""
  options = options_of(setting) | {"steps": 1, "group_size": size}
  with Metrics(directory, resume={"rl": 0}) as metrics:
    params = rl.train(
      sampler, list(tasks), judge, directory / "rl", metrics, **options
    )
  assert all(np.isfinite(x).all() for x in jax.tree.leaves(params))
  [line] = read(directory / "metrics.jsonl")
  numbers = [v for k, v in line.items() if k != "stage"]
  assert all(math.isfinite(v) for v in numbers)
  config = {"seed": 0, "rl": {k: options[k] for k in ("turns", "prompts")}}
  config["rl"]["group_size"] = size
  (directory / "config.json").write_text(json.dumps(config))
  assert "<svg" in report.render(directory).read_text()
  table = comparison_page.table({setting: [comparison.load(directory)]})
  assert setting in table and "nan" not in table
  return line


def always(status):
  """The same verdict on everything."""

  def judge(pairs):
    """See `evaluate`."""
    results = evaluate(pairs)
    for result in results:
      result.status = status
    return results

  return judge


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("status", ["ok", "compile_error", "infra_error"])
@pytest.mark.parametrize("size", [1, 3])
def test_equal_verdicts(setting, status, size, sampler, tmp_path):
  line = train(sampler, always(status), tmp_path, setting, size)
  passed = status == "ok"
  assert line["pass@1"] == passed
  assert line[f"status/{status}"] >= 2 * size
  if size > 1:  # Alone, Dr. Kernel's return is its own advantage.
    assert line["turns_trained_on"] == 0 and "loss" not in line
    assert "sampler_mismatch" not in line
  if passed:
    assert line["turns@1"] == 2 * size and not line.get("turns@2")


def judge_with(evaluator, **options):
  """Real verdicts."""
  return lambda pairs: evaluator.evaluate(
    Request(task, source, **options) for task, source in pairs
  )


@pytest.mark.parametrize("setting", ["leap", "dense"])
def test_empty_completions_are_failures_that_say_so(
  setting, evaluator, tmp_path
):
  sampler = bank.make_sampler([""])
  line = train(sampler, judge_with(evaluator), tmp_path, setting, 3)
  assert line["status/extract_error"] == line["turns@1"] + line["turns@2"]
  assert line["pass@2"] == 0 and line["judged@1"] == 1


def test_an_empty_completion_beside_a_right_one_is_learned_from(
  evaluator, tmp_path
):
  sampler = bank.make_sampler(["", bank.RIGHT])
  line = train(sampler, judge_with(evaluator), tmp_path, "leap", 8)
  assert 0 < line["pass@1"] < 1
  assert line["turns_trained_on"] > 0 and math.isfinite(line["loss"])


@pytest.mark.parametrize("setting", ["leap", "dense", "single"])
def test_every_compile_running_into_its_deadline(setting, evaluator, tmp_path):
  sampler = bank.make_sampler([bank.SLOW])
  judge = judge_with(evaluator, compile_timeout_s=0.5)
  line = train(sampler, judge, tmp_path, setting, 2)
  assert line["status/timeout"] == line["turns@1"] + line.get("turns@2", 0)
  assert line["pass@1"] == 0 and line["turns_trained_on"] == 0
  assert line["seconds_compiling"] >= 0.5 > line["seconds_running"]


def test_no_rollout_that_can_be_trained_on_leaves_the_parameters(
  sampler, tmp_path
):
  line = train(sampler, always("infra_error"), tmp_path, "leap", 3)
  assert line["turns_trained_on"] == 0
  with Metrics(tmp_path, resume={"rl": 1}) as metrics:
    params = rl.train(
      sampler,
      ["relu"],
      always("infra_error"),
      tmp_path / "rl",
      metrics,
      **options_of("leap") | {"steps": 1, "group_size": 3},
    )
  for before, after in zip(
    jax.tree.leaves(sampler.params), jax.tree.leaves(params), strict=True
  ):
    np.testing.assert_array_equal(before, after)
