"""Large arrays are there once: no step from bundle to verdict copies them."""

import json
import pathlib
import subprocess
import sys

SCRIPT = pathlib.Path(__file__).parents[2] / "benchmarks" / "large_output.py"


def test_no_second_copy_of_a_large_output(tmp_path):
  out = tmp_path / "record.json"
  command = [sys.executable, str(SCRIPT), "--side=3000", f"--out={out}"]
  done = subprocess.run(command, capture_output=True, text=True, timeout=300)
  assert done.returncode == 0, done.stderr
  record = json.loads(out.read_text())
  assert record["array_bytes"] == 4 * 3000 * 3000
  assert record["read_peak_arrays"] < record["read_floor_arrays"] + 0.5
  for name, run in record["runs"].items():
    assert run["evaluator_peak_arrays"] < run["evaluator_floor_arrays"] + 0.5
    assert 1 < run["worker_peak_arrays"] < 12, name
  assert record["runs"]["wrong_everywhere"]["mismatches"] == 9_000_000
  assert record["runs"]["half_unwritten"]["mismatches"] == 4_500_000
