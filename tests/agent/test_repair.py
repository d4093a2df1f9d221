import collections

import numpy as np
import pytest

from jaxkern.agent.edits import repair
from jaxkern.data import corpus
from jaxkern.evaluator import Evaluator, Request
from jaxkern.tasks import suite
from tests.agent.edits_cases import kernel

GOOD = kernel("\n  float v = x[i];\n  y[i] = v;", "n")


@pytest.mark.parametrize(
  ("name", "status", "log", "broken"),
  [
    (
      "semicolon",
      "compile_error",
      "kernel.cu:5: error: expected ';' before 'y'",
      GOOD.replace("float v = x[i];", "float v = x[i]"),
    ),
    (
      "round_up",
      "wrong_answer",
      "",
      GOOD.replace("(n + 127) / 128", "n / 128"),
    ),
    ("guard", "runtime_error", "", GOOD.replace("  if (i >= n) return;\n", "")),
    ("bound", "runtime_error", "", GOOD.replace("i >= n", "i > n")),
    ("block", "launch_error", "", GOOD.replace("128", "2048")),
    (
      "return",
      "compile_error",
      "",
      GOOD.replace("  return cudaGetLastError();\n", ""),
    ),
  ],
)
def test_a_mistake_is_mended(name, status, log, broken):
  assert broken != GOOD
  made = dict(repair.repairs(broken, status, log))
  assert name in made


def test_what_is_right_is_left_alone():
  assert list(repair.repairs(GOOD, "ok", "")) == []


def test_some_of_the_mistakes_that_models_make_are_mended():
  """Of the corpus' broken kernels, judged by the evaluator."""
  proposals = corpus.propose(suite.names("train")[:40], seed=0, count=60)
  broken = [(p.task, p.attempt) for p in proposals if p.attempt][:16]
  with Evaluator("cpu") as evaluator:
    results = evaluator.evaluate(
      [Request(suite.get(t), source) for t, source in broken]
    )
    tried = [
      (k, name, Request(suite.get(task), made))
      for k, ((task, source), result) in enumerate(
        zip(broken, results, strict=True)
      )
      for name, made in repair.repairs(source, result.status, result.log)
    ]
    verdicts = evaluator.evaluate([request for _, _, request in tried])
  mended = collections.Counter(
    name
    for (_, name, _), verdict in zip(tried, verdicts, strict=True)
    if verdict.status == "ok"
  )
  assert sum(mended.values()) >= 2, mended
  assert np.isfinite(sum(mended.values()))
