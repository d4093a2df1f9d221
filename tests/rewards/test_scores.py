import importlib.util
import itertools
import math
import os
import pathlib

import numpy as np
import pytest

from jaxkern.rewards import scores

CHECKOUT = os.environ.get("KERNELBENCH", "")


def row(task, status, us=0.0, baseline=0.0, **more):
  return {
    "task": task,
    "level": 1,
    "sample": 0,
    "status": status,
    "us": us,
    "baseline_us": baseline,
    **more,
  }


def test_pass_at_k_by_hand():
  assert scores.pass_at_k(4, 1, 1) == 0.25
  # Of the six pairs out of four, three hold the right one.
  assert scores.pass_at_k(4, 1, 2) == 0.5
  assert scores.pass_at_k(4, 3, 2) == 1.0
  assert scores.pass_at_k(4, 0, 4) == 0.0


def test_pass_at_k_counts_subsets():
  for n, c, k in [(6, 2, 3), (7, 5, 2), (5, 1, 5)]:
    subsets = list(itertools.combinations(range(n), k))
    hits = sum(any(i < c for i in subset) for subset in subsets)
    assert scores.pass_at_k(n, c, k) == pytest.approx(hits / len(subsets))


@pytest.mark.parametrize("numbers", [(3, 4, 1), (3, 1, 4), (3, 1, 0)])
def test_pass_at_k_refuses_nonsense(numbers):
  with pytest.raises(ValueError, match="expected"):
    scores.pass_at_k(*numbers)


def test_fast_p_by_hand():
  correct = [True, True, True, False]
  baseline, actual = [10.0, 10.0, 10.0, 10.0], [5.0, 10.0, 20.0, 1.0]
  assert scores.fast_p(correct, baseline, actual, 0) == 0.75
  assert scores.fast_p(correct, baseline, actual, 0.5) == 0.5
  assert scores.fast_p(correct, baseline, actual, 1) == 0.25  # Strictly more.
  assert scores.fast_p(correct, baseline, actual, 2) == 0.0
  assert scores.fast_p([], [], [], 1) == 0.0


def test_speedups_are_of_right_kernels():
  correct, baseline, actual = [True, True, False], [8, 2, 99], [1.0, 4.0, 1.0]
  assert scores.mean_speedup(correct, baseline, actual) == pytest.approx(2.0)
  assert scores.mean_speedup(correct, baseline, actual, True) == pytest.approx(
    8.0
  )
  assert scores.geometric_mean([]) == 0.0
  with pytest.raises(ValueError, match="equal lengths"):
    scores.mean_speedup([True], [1, 2], [1])


def test_roofline_is_the_larger_bound():
  # 2 GFLOP at 1 TFLOP/s take 2 ms, 1 MB at 1 GB/s takes 1 ms.
  assert scores.roofline_share(4000, 2e9, 1e6, 1e12, 1e9) == pytest.approx(0.5)
  assert scores.roofline_share(4000, 2e6, 1e6, 1e12, 1e9) == pytest.approx(0.25)


def test_interval_is_of_tasks_drawn_anew():
  low, high = scores.bootstrap([0.0, 1.0] * 50)
  # Standard error 0.05: 0.4 to 0.6, roughly.
  assert 0.38 < low < 0.43 and 0.57 < high < 0.62
  assert scores.bootstrap([2.0] * 9, [2.0] * 9) == [1.0, 1.0]
  assert scores.bootstrap([]) == [0.0, 0.0]


def test_raw_and_filtered_stand_side_by_side():
  rows = [
    row("a", "ok", 1.0, 3.0),
    row("b", "cheating", 1.0, 100.0, raw_status="ok"),
    row("c", "wrong_answer"),
    row("d", "ok", 4.0, 2.0),
  ]
  made = scores.summarise(rows)["all"]
  assert made["tasks"] == 4
  filtered, raw = made["filtered"], made["raw"]
  assert filtered["pass@1"]["value"] == 0.5 and raw["pass@1"]["value"] == 0.75
  assert filtered["fast_1"]["value"] == 0.25 and raw["fast_1"]["value"] == 0.5
  mean = filtered["geometric_mean_speedup"]
  assert mean["value"] == pytest.approx(math.sqrt(1.5)) and mean["n"] == 2


def test_samples_of_a_task_are_averaged_first():
  rows = [row("a", "ok") | {"sample": k} for k in range(3)]
  rows += [row("b", "wrong_answer"), row("b", "ok") | {"sample": 1}]
  made = scores.summarise(rows, ks=(1, 2, 3))["1"]["filtered"]
  assert made["pass@1"]["value"] == 0.75 and made["fast_0"]["value"] == 0.75
  assert made["pass@2"]["value"] == 1.0
  assert "pass@3" not in made  # Task b has two samples.


@pytest.mark.skipif(not CHECKOUT, reason="KERNELBENCH names no checkout")
def test_scores_are_kernelbenchs():
  path = pathlib.Path(CHECKOUT) / "src" / "kernelbench" / "score.py"
  spec = importlib.util.spec_from_file_location("theirs", path)
  theirs = importlib.util.module_from_spec(spec)
  spec.loader.exec_module(theirs)
  rng = np.random.default_rng(0)
  for _ in range(50):
    n = int(rng.integers(1, 40))
    correct = rng.random(n) < 0.7
    baseline, actual = rng.uniform(0.1, 9, n), rng.uniform(0.1, 9, n)
    for p in (0, 0.5, 0.8, 1, 1.5, 2, 3.3):
      assert scores.fast_p(correct, baseline, actual, p) == pytest.approx(
        theirs.fastp(correct, baseline, actual, n, p)
      )
    for name, faster in (
      ("geometric_mean_speed_ratio_correct_only", False),
      ("geometric_mean_speed_ratio_correct_and_faster_only", True),
    ):
      assert scores.mean_speedup(
        correct, baseline, actual, faster
      ) == pytest.approx(getattr(theirs, name)(correct, baseline, actual, n))
