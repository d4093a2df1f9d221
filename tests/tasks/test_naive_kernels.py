"""The suite's naive kernels on the cpu device, and answers that are no work."""

import pytest

from jaxkern.evaluator import Evaluator, Request
from jaxkern.tasks import bundle, suite
from jaxkern.tasks.task import launch_signature

NAMES = suite.names(set="suite")
FIRST = {name.rpartition("_")[0]: name for name in reversed(NAMES)}


@pytest.fixture(scope="module")
def evaluator(tmp_path_factory):
  cache = tmp_path_factory.mktemp("cache")
  with Evaluator("cpu", cache_dir=cache, seed=1) as made:
    yield made


def small(name):
  """Without the smallest case and the kinds of inputs, for time's sake."""
  task = suite.get(name)
  return task._replace(cases=task.cases[1:], timed=(1,), kinds=())


def test_naive_kernels_are_right(evaluator, monkeypatch):
  monkeypatch.setattr(bundle, "VARIANTS_TIMED", 2)
  names = sorted(FIRST.values())  # Each operation once, of whatever dtype.
  results = evaluator.evaluate(
    Request(task, task.baseline) for task in map(small, names)
  )
  wrong = {
    name: (result.status, result.log)
    for name, result in zip(names, results, strict=True)
    if result.status != "ok"
  }
  assert not wrong and len(results) >= 120


@pytest.mark.parametrize("name", ["attention_f32", "adam_f32", "top_k_f32"])
def test_answers_that_are_no_work_are_wrong(evaluator, name):
  task = small(name)
  outputs = [a for a in task.arguments if a.kind == "output"]
  fill = "".join(
    "cudaMemsetAsync({0}, 0, sizeof(*{0}) * {1}, stream);\n".format(
      a.name, " * ".join(map(str, a.shape))
    )
    for a in outputs
  )
  source = f"{launch_signature(task.arguments)} {{\n{fill}return 0;\n}}\n"
  (result,) = evaluator.evaluate([Request(task, source)])
  assert result.status == "wrong_answer"
