import json
import re

import pytest

from jaxkern.training import report


def turn(status, source="int launch() { return a < b; }"):
  return {"source": source, "status": status, "log": "line", "speedup": 1.5}


@pytest.fixture
def workdir(tmp_path):
  (tmp_path / "config.json").write_text("{}")
  rates = {"pass@1": 0.25, "pass@1_interval": [0.125, 0.5], "n": 240}
  summary = {
    "before": rates,
    "after": {**rates, "pass@1": 0.75},
    "new_tasks": {"before": {**rates, "pass@1": 0.125}, "after": rates},
    "seconds": 61.0,
    "stage_seconds": {"rl": 61.0},
    "device": "cpu: test",
    "seed": 0,
    "config": "leap.py:test",
  }
  (tmp_path / "summary.json").write_text(json.dumps(summary))
  step = {
    "stage": "rl",
    "pass@1": 0.5,
    **dict.fromkeys(["groups_expanded", "groups_easy", "groups_hopeless"], 1),
    **{
      f"seconds_{name}": 1.0
      for name in ("sampling evaluating compiling running updating".split())
    },
  }
  lines = [{**step, "step": k} for k in range(2)]
  lines.append({"stage": "sft", "step": 0, "loss": 3.0})
  (tmp_path / "metrics.jsonl").write_text(
    "".join(json.dumps(line) + "\n" for line in lines)
  )
  for name, status, k in (("before", "timeout", None), ("after", "ok", 1)):
    record = {"task": "relu", "success_turn": k, "turns": [turn(status)]}
    (tmp_path / f"{name}.jsonl").write_text(json.dumps(record) + "\n")
  return tmp_path


def test_the_page_is_self_contained_and_has_the_numbers(workdir):
  page = report.render(workdir).read_text()
  assert "25.0 %" in page and "75.0 %" in page and "[12.5, 50.0]" in page
  assert "new tasks, before" in page and "12.5 [" in page
  assert page.count("<svg") == 5
  assert not re.search(r'(src|href)="(?!#)', page)
  assert "return a &lt; b;" in page  # Kernels are text, not markup.


def test_a_run_without_results_still_has_a_page(tmp_path):
  (tmp_path / "config.json").write_text("{}")
  assert "Unfinished run" in report.render(tmp_path).read_text()


def test_a_directory_without_a_run_is_refused(tmp_path):
  with pytest.raises(ValueError, match="expected a run's directory"):
    report.render(tmp_path)


def test_waiting_for_verdicts_is_shared_out_by_what_kernels_did():
  spent = {"compiling": 3.0, "queueing": 4.0, "running": 1.0}
  line = {f"seconds_{k}": v for k, v in spent.items()}
  line |= dict(seconds_sampling=5.0, seconds_evaluating=2, seconds_updating=7.0)
  assert report._wall_seconds([line]) == {
    "sampling": [5.0],
    "compiling": [0.75],
    "queueing": [1.0],
    "running": [0.25],
    "updating": [7.0],
  }


def test_a_run_that_samples_ahead_is_plotted_with_its_clock(workdir):
  lines = [
    json.loads(x) for x in (workdir / "metrics.jsonl").read_text().splitlines()
  ]
  assert "on the clock" not in report._seconds(lines[:2])
  for line in lines:
    line |= {"staleness": 1, "seconds_step": 2.0}
  figure = report._seconds(lines[:2])
  assert "<!-- on the clock -->" in figure and "<!-- queueing -->" in figure


def test_smoothing_starts_at_the_first_value_and_follows():
  assert report._smooth([4.0, 4.0]) == [4.0, 4.0]
  # (0.7 * 0 + 1) / (0.7 + 1)
  assert report._smooth([0.0, 1.0])[1] == pytest.approx(1 / 1.7)
