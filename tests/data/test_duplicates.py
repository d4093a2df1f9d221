"""Near-duplicates of kernels."""

import pytest

from jaxkern.data import duplicates
from jaxkern.data.duplicates import Kernel

TEXT = " ".join(f"y[{k}] = x[{k}] + a{k};" for k in range(40))


def test_jaccard_index_by_hand():
  # Runs of five words: abcde, bcdef against abcde, bcdeg: 1 of 3.
  assert duplicates.jaccard("a b c d e f", "a b c d e g") == pytest.approx(
    1 / 3
  )
  assert duplicates.jaccard("a b", "a  b // said") == 1
  assert duplicates.jaccard("", "") == 0
  assert duplicates.jaccard("f<<<64, 2>>>(x);", "f<<<32, 1>>>(x);") == 1
  assert duplicates.jaccard("x = 1.5f * y3;", "x = 2.5f * y3;") < 1


def test_the_first_stays_and_layout_is_nothing():
  changed = TEXT.replace("a7", "b7")
  other = TEXT.replace("x", "z").replace("y", "w")
  found = duplicates.find(
    [
      Kernel("best", "t", TEXT),
      Kernel("layout", "t", TEXT.replace(" ", "\n  ") + "/* by me */"),
      Kernel("name", "t", changed),
      Kernel("other", "t", other),
    ],
    0.9,
  )
  assert found == {"layout": "best", "name": "best"}
  assert 0.9 < duplicates.jaccard(TEXT, changed) < 1


def test_another_task_is_another_lesson():
  found = duplicates.find([Kernel("a", "s", TEXT), Kernel("b", "t", TEXT)], 0.9)
  assert found == {}


def test_at_one_only_equal_words_are_duplicates():
  kernels = [
    Kernel("a", "t", TEXT),
    Kernel("b", "t", TEXT + " "),
    Kernel("c", "t", TEXT.replace("a7", "b7")),
  ]
  assert duplicates.find(kernels, 1.0) == {"b": "a"}
  with pytest.raises(ValueError, match="expected 0 < index <= 1, got 0"):
    duplicates.find(kernels, 0)
