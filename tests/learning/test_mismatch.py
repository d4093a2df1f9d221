import numpy as np
import pytest

from jaxkern.learning import mismatch

LIMITS = {"low": 0.999, "high": 1.001, "veto": 1e-4}


def rows(*ratios):
  """Two tokens a row, and one of padding."""
  log_ratio = np.log(np.array([[*r, 1.0] for r in ratios], np.float32))
  return log_ratio, np.array([[1, 1, 0]] * len(ratios), np.float32)


def test_a_geometric_mean_near_one_is_kept():
  # Means: 1, 1 (up and down), sqrt(1.01), sqrt(0.99).
  got = mismatch.geometric_mean(
    *rows((1, 1), (2, 0.5), (1.01, 1), (0.99, 1)), **LIMITS
  )
  assert got.tolist() == [1, 1, 0, 0]


def test_one_token_that_the_trainer_excludes_is_a_veto():
  got = mismatch.geometric_mean(*rows((5e-5, 2e4), (5e-4, 2e3)), **LIMITS)
  assert got.tolist() == [0, 1]


def test_up_and_down_do_not_cancel_in_the_absolute_mean():
  # |log 2| = 0.693 twice; half of |log 1.1| = 0.095.
  got = mismatch.mean_absolute(*rows((2, 0.5), (1.1, 1)), delta=0.05)
  assert got.tolist() == [0, 1]


@pytest.mark.parametrize(
  ("name", "options"),
  [
    ("everything", {}),
    ("geometric_mean", LIMITS),
    ("mean_absolute", {"delta": 0.0}),
  ],
)
def test_an_empty_completion_is_kept_and_finite(name, options):
  zeros = np.zeros((2, 3), np.float32)
  got = mismatch.KEEP[name](zeros, zeros, **options)
  assert got.tolist() == [1, 1]
