"""The suite's references against a second hand, and answers that are no work.

Inputs and answers are computed once per task, for all tests of this file.
"""

import functools
import inspect

import numpy as np
import pytest
from checks import all_checks

from jaxkern.tasks import lint, suite

NAMES = suite.names(set="suite")
CHECKS = all_checks()


def operation(name: str) -> str:
  """Without the dtype."""
  return name.rpartition("_")[0]


@functools.cache
def drawn(name: str, case: int):
  """(attributes, inputs, the reference's outputs in float64) of a case."""
  task = suite.get(name)
  attributes = task.cases[case]
  inputs = task.make_inputs(np.random.default_rng(7), attributes)
  exact = task.exact(inputs, attributes)
  outputs = [a.name for a in task.arguments if a.kind == "output"]
  return attributes, inputs, {output: exact[output] for output in outputs}


def second_hand(name: str, case: int):
  """What the check makes of them, in order."""
  attributes, inputs, _ = drawn(name, case)
  wide = {
    n: x if x.dtype.kind in "iub" else x.astype(np.float64)
    for n, x in inputs.items()
  }
  check = CHECKS[operation(name)]
  known = {**attributes, **wide}
  made = check(*(known[p] for p in inspect.signature(check).parameters))
  return made if isinstance(made, tuple) else (made,)


def test_every_operation_has_a_check_and_every_check_an_operation():
  assert set(CHECKS) == {operation(name) for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_reference_agrees_with_a_second_hand(name):
  for case in (1, 2):  # Sizes that test_naive_kernels has compiled, too.
    _, _, expected = drawn(name, case)
    pairs = zip(expected.items(), second_hand(name, case), strict=True)
    for (output, y), again in pairs:
      again = np.asarray(again)
      assert again.shape == y.shape, output
      if y.dtype.kind in "iub":
        assert np.array_equal(again, y), output
      else:
        size = np.sqrt(np.mean(y * y))
        np.testing.assert_allclose(again, y, rtol=1e-9, atol=1e-11 * size)


def test_no_trivial_answer_passes_and_every_input_matters():
  found = {}
  for name in NAMES:
    task = suite.get(name)
    attributes, inputs, exact = drawn(name, 2)
    answers = lint.trivial_answers(inputs, exact)
    assert {"zeros", "ones", "mean", "first half"} <= set(answers), name
    found[name] = lint.lint(
      inputs,
      lambda arrays, task=task, at=attributes: task.reference(arrays, at),
      task.tolerance(attributes),
      others=task.make_inputs(np.random.default_rng(8), attributes),
    )
  # Nor do answers that read the inputs in less than the outputs have.
  assert {name: f for name, f in found.items() if f != lint.Findings()} == {}
