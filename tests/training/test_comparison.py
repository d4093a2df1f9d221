import json
import math
import re
import subprocess
import sys

import numpy as np
import pytest

from jaxkern.training import comparison, comparison_page
from jaxkern.training.comparison import Run


def run_of(accuracy, seconds=None, seed=0):
  seconds = np.arange(1, len(accuracy) + 1) if seconds is None else seconds
  return Run(
    seed, np.array(seconds, float), np.array(accuracy), 0, 0, 1, {1: 0.5}
  )


def leave(directory, accuracies, *, seed, pace=1.0):
  """A run's directory with these first-turn pass rates."""
  directory.mkdir()
  config = {"seed": seed, "rl": {"turns": 2, "prompts": 2, "group_size": 2}}
  (directory / "config.json").write_text(json.dumps(config))
  line = {
    "stage": "rl",
    "groups_expanded": 1,
    "status/ok": 3,
    "status/timeout": 3,
    **{f"seconds_{k}": pace for k in ("sampling", "evaluating", "updating")},
  }
  lines = [
    line | {"step": i, "pass@1": a, "pass@2": a + 0.25}
    for i, a in enumerate(accuracies)
  ]
  (directory / "metrics.jsonl").write_text(
    "".join(json.dumps(x) + "\n" for x in lines)
  )
  rates = {"pass@1": 0.5, "pass@1_interval": [0, 1], "pass@2": 0.75, "n": 4}
  (directory / "summary.json").write_text(
    json.dumps({"new_tasks": {"after": rates}})
  )
  return directory


def test_a_run_is_read_from_what_it_left(tmp_path):
  run = comparison.load(leave(tmp_path / "a", [0.5, 0.5], seed=3), memory=0)
  assert run.seed == 3 and run.seconds.tolist() == [3, 6]
  assert run.accuracy.tolist() == [0.5, 0.5]
  assert run.activated == 0.5 and run.recovered == 0.5
  assert run.turns_per_pass == 2  # 12 turns, 2 * 0.75 * 4 successes.
  assert run.final == {1: 0.5, 2: 0.75}


def test_a_step_takes_what_its_clock_said_if_it_has_one():
  parts = dict(seconds_sampling=1, seconds_evaluating=2, seconds_updating=3)
  assert comparison.seconds_of(parts) == 6
  assert comparison.seconds_of(parts | {"seconds_step": 4.5}) == 4.5


def test_time_to_an_accuracy_is_the_first_step_that_has_it():
  run = run_of([0.1, 0.5, 0.4, 0.6], [10, 20, 30, 40])
  assert comparison.time_to(run, 0.45) == 20
  assert comparison.time_to(run, 0.55) == 40
  assert comparison.time_to(run, 0.7) == math.inf


def test_levels_are_what_every_run_rises_to():
  runs = {"a": [run_of([0.1, 0.5])], "b": [run_of([0.2, 0.9])]}
  np.testing.assert_allclose(comparison.levels(runs, count=3), [0.3, 0.4, 0.5])
  assert comparison.levels({"a": [run_of([0.5, 0.4])]}) == []


def test_the_ratio_is_of_mean_times_with_an_interval_over_seeds():
  slow = [run_of([0, 1], [1, 4]), run_of([0, 1], [1, 8])]
  fast = [run_of([0, 1], [1, 2]), run_of([0, 1], [1, 4])]
  value, (low, high) = comparison.ratio(slow, fast, 0.5)
  assert value == 2 and low == 1 and high == 4


def test_a_band_is_on_the_clock_that_all_runs_share():
  runs = [run_of([0.0, 1.0], [0, 10]), run_of([1.0, 1.0], [2, 6])]
  seconds, mean, least, most = comparison.band(runs, points=3)
  assert seconds.tolist() == [2, 4, 6]
  np.testing.assert_allclose(least, [0.2, 0.4, 0.6])
  np.testing.assert_allclose(mean, [0.6, 0.7, 0.8])
  assert most.tolist() == [1, 1, 1]


def test_runs_of_one_name_are_one_method_and_seeds_differ(tmp_path):
  a = leave(tmp_path / "leap-0", [0.5], seed=0)
  b = leave(tmp_path / "leap-1", [0.5], seed=1)
  assert [r.seed for r in comparison.methods([a, b])["leap"]] == [0, 1]
  with pytest.raises(ValueError, match="leap has two runs of seed 0"):
    comparison.methods([a, a])


def test_the_table_says_so_when_no_level_is_shared():
  assert "No accuracy" in comparison_page.table({"a": [run_of([0.5])]})


def compare(*arguments):
  return subprocess.run(
    [sys.executable, "-m", "jaxkern.bin.compare_runs", *map(str, arguments)],
    capture_output=True,
    text=True,
    timeout=120,
  )


def test_the_command_prints_ratios_and_writes_a_page(tmp_path):
  rise = [0.0, 0.1, 0.2, 0.3, 0.4]
  runs = [
    leave(tmp_path / "leap-0", rise, seed=0),
    leave(tmp_path / "leap-1", rise, seed=1),
    leave(tmp_path / "dense-0", rise, seed=0, pace=2.0),
  ]
  page = tmp_path / "page.html"
  done = compare(*runs, f"--page={page}")
  assert done.returncode == 0, done.stderr
  assert done.stdout.count("dense 2.00 [2.00, 2.00]") == 4
  assert "50.0 / 75.0 %" in done.stdout
  text = page.read_text()
  assert text.count("<svg") == 2 and "dense 2.00" in text
  assert not re.search(r'(src|href)="(?!#)', text)


@pytest.mark.parametrize(
  ("arguments", "said"),
  [
    ([], "error: runs: expected directories of runs, got none"),
    (["/nowhere"], "error: runs: expected a run's directory, got /nowhere"),
  ],
)
def test_misuse_of_the_command_is_one_line(arguments, said):
  done = compare(*arguments)
  assert done.returncode == 2 and done.stderr.strip() == said
