import json

import pytest

from jaxkern.data import kernelbench_files


def row(number, status, sample=0, **more):
  return {
    "task": f"{number}_x.py",
    "level": 1,
    "number": number,
    "sample": sample,
    "status": status,
    "log": "",
    **more,
  }


ROWS = [
  row(10, "ok", times_us=[1000.0, 3000.0]),
  row(2, "wrong_answer", times_us=[]),
  row(2, "compile_error", sample=1),
  row(3, "ok") | {"level": 2},
]


def test_run_is_in_the_benchmarks_layout(tmp_path):
  kernelbench_files.write_run(tmp_path, ROWS, 1, ks=(1, 2))
  made = json.loads((tmp_path / "eval_results.json").read_text())
  assert list(made) == ["2", "10"]  # By number, without the other level.
  [right] = made["10"]
  assert right["compiled"] and right["correctness"]
  assert right["runtime"] == 2.0 and right["runtime_stats"]["std"] == 1.0
  wrong, broken = made["2"]
  assert wrong["compiled"] and not wrong["correctness"]
  assert not broken["compiled"] and broken["runtime"] == -1.0
  told = json.loads((tmp_path / "pass_at_k_results.json").read_text())
  assert told["averages"]["avg_pass@1"] == 0.5
  assert told["problems"]["2"]["total_samples"] == 2
  assert "pass@2" not in told["problems"]["10"]


def test_run_is_read_back_with_its_baselines(tmp_path):
  kernelbench_files.write_run(tmp_path, ROWS, 1)
  baseline = tmp_path / "baseline.json"
  kernelbench_files.write_baseline(baseline, {1: {"10_x.py": [4000.0]}})
  rows = kernelbench_files.read_run(tmp_path, 1, baseline)
  found = {(r["number"], r["sample"]): r for r in rows}
  assert found[10, 0]["status"] == "ok"
  assert found[10, 0]["us"] == 2000 and found[10, 0]["baseline_us"] == 4000
  assert found[2, 1]["status"] == "compile_error"


def test_verdicts_of_the_benchmarks_own_scripts(tmp_path):
  entry = {"sample_id": 0, "compiled": True, "correctness": False}
  entry |= {"metadata": {}, "runtime": -1.0, "runtime_stats": {}}
  results = {"7": [entry], "8": [entry | {"compiled": False}]}
  (tmp_path / "eval_results.json").write_text(json.dumps(results))
  rows = kernelbench_files.read_run(tmp_path, 3)
  assert [r["status"] for r in rows] == ["wrong_answer", "compile_error"]
  with pytest.raises(ValueError, match="expected eval_results.json"):
    kernelbench_files.read_run(tmp_path / "none", 3)
