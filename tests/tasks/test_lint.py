"""What `lint` finds, by hand; and trivial answers over the suite."""

import numpy as np
import pytest

from jaxkern.tasks import lint
from jaxkern.tasks.compare import wrong

X = np.arange(1, 65, dtype=np.float32)
Z = np.linspace(-3, 5, 64, dtype=np.float32)


def test_good_task_has_no_findings():
  found = lint.lint(
    {"x": X, "z": Z}, lambda a: {"y": a["x"] * a["z"]}, (1e-6, 1e-6)
  )
  assert found == lint.Findings() and found.lines() == []


@pytest.mark.parametrize(
  ("reference", "tolerance", "line"),
  [
    (lambda a: {"y": 0 * a["x"]}, (0, 0), "passes: zeros"),
    (lambda a: {"y": 0 * a["x"] + 7}, (0, 0), "passes: mean"),
    (lambda a: {"y": a["x"]}, (0, 0), "passes: copy of x"),
    (lambda a: {"y": a["x"]}, (0, 0), "does not matter: z"),
    (lambda a: {"y": a["x"] + a["z"]}, (1e-2, 1e-2), "precision passes: tf32"),
    (lambda a: {"y": a["x"] / (a["z"] > 9)}, (0, 0), "NaN or Inf expected: y"),
  ],
)
def test_faults_are_found(reference, tolerance, line):
  with np.errstate(divide="ignore"):
    found = lint.lint({"x": X, "z": Z}, reference, tolerance)
  assert line in found.lines()


def test_tolerance_that_cannot_be_met_is_found():
  found = lint.lint(
    {"x": X},
    lambda a: {"y": a["x"] ** 2},
    (0, 1e-3),
    single=lambda a: {"y": a["x"] ** 2 + 0.01},
  )
  assert found.unreachable == pytest.approx(10, rel=1e-3)


def test_precision_of_the_outputs_is_not_lower():
  def reference(a):
    return {"y": (a["x"] * a["z"]).astype(np.float16)}

  found = lint.lint({"x": X, "z": Z}, reference, (2e-2, 1e-1))
  assert found.precision == ("bfloat16",)


def test_rule_is_the_evaluators():
  nan, inf = np.nan, np.inf
  got = np.array([1.0, 1.1, nan, inf, inf, 1.0], np.float32)
  expected = np.array([1.0, 1.0, nan, inf, -inf, nan], np.float32)
  assert wrong(got, expected, 0.05, 0.0).tolist() == [0, 1, 0, 0, 1, 1]
  ints = np.array([1, 2])
  assert wrong(ints, np.array([1, 3]), 9, 9).tolist() == [False, True]
  with pytest.raises(ValueError, match="expected shape"):
    wrong(ints, np.array([1]), 0, 0)
