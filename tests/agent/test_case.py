import pytest

from jaxkern.agent import case as cases


@pytest.mark.parametrize(
  ("gain", "word"),
  [
    (2.0, "effective"),
    (1.05, "effective"),
    (1.0499, "partial"),
    (1.0, "partial"),
    (0.9999, "ineffective"),
    (0.85, "ineffective"),
    (0.8499, "negative"),
    (0.0, "negative"),
  ],
)
def test_labels_at_their_thresholds(gain, word):
  assert cases.label(gain) == word


def test_a_root_and_a_child_of_a_failure_gain_one():
  assert cases.relative_gain(7.0, None) == 1
  assert cases.relative_gain(7.0, 0.0) == 1
  assert cases.relative_gain(3.0, 1.5) == 2
  assert cases.relative_gain(0.0, 1.5) == 0


def test_score_of_a_leaf_is_its_gain_and_of_others_half_of_it():
  assert cases.score(1.2, []) == 1.2
  assert cases.score(1.2, [2.0]) == pytest.approx(0.6 + 0.7)
  assert cases.score(1.0, [2.0, 1.0]) == pytest.approx(0.5 + 0.35 * 3)


def test_confidence_is_of_how_it_was_seen():
  assert cases.confidence("ok", 10) == 1.0
  assert cases.confidence("ok", 1) == 0.5
  assert cases.confidence("wrong_answer", 10) == 0.2
