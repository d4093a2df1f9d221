"""SIGKILL in the second turn of a step, to a real process with real compilers.

The run that goes on afterwards ends where one that was never killed does, and
what had been built is not built again.
"""

import json
import pathlib
import signal
import subprocess
import sys
import time

import chex
import pytest

from jaxkern.training.checkpoint import Checkpoints
from jaxkern.training.metrics import read

HERE = pathlib.Path(__file__).parent
# Not the same when something is taken from the cache or from a busy machine.
VARYING = ("seconds_", "cache_hits")


def start(directory, staleness, *stop):
  directory.mkdir(exist_ok=True)
  command = [sys.executable, str(HERE / "killed_run.py"), str(directory)]
  return subprocess.Popen([*command, *map(str, (staleness, *stop))])


def finish(directory, staleness):
  """Runs to the end; the evaluator's statistics."""
  assert start(directory, staleness).wait(timeout=300) == 0
  return json.loads((directory / "finished.json").read_text())


def kill_within(directory, staleness, step, turn):
  """Kills a run in that turn; the statistics it had then."""
  process = start(directory, staleness, step, turn)
  deadline = time.monotonic() + 240
  marker = directory / "stopped.json"
  while not marker.exists():
    assert process.poll() is None and time.monotonic() < deadline
    time.sleep(0.02)
  process.send_signal(signal.SIGKILL)
  assert process.wait() == -signal.SIGKILL
  return json.loads(marker.read_text())


def left_by(directory):
  """The last parameters and optimiser state, and the metrics of all steps."""
  with Checkpoints(directory / "rl") as checkpoints:
    step, state = checkpoints.restore(None)
  lines = [
    {k: v for k, v in line.items() if not k.startswith(VARYING)}
    for line in read(directory / "metrics.jsonl")
  ]
  return step, state, lines


@pytest.mark.parametrize("staleness", [0, 1])
def test_a_run_killed_within_a_step_goes_on_as_if_it_had_not_been(
  staleness, tmp_path
):
  whole = finish(tmp_path / "whole", staleness)
  before = kill_within(tmp_path / "parts", staleness, step=1, turn=2)
  assert [x["step"] for x in read(tmp_path / "parts" / "metrics.jsonl")] == [0]
  after = finish(tmp_path / "parts", staleness)

  step, state, lines = left_by(tmp_path / "whole")
  again, same_state, same_lines = left_by(tmp_path / "parts")
  assert step == again == 3
  assert lines == same_lines and [x["step"] for x in lines] == [0, 1, 2]
  assert lines[1]["turns@2"] > 1
  chex.assert_trees_all_equal(same_state, state)

  # What the killed process had built, of its last step too, is not built again.
  assert before["cache_misses"] > lines[0]["distinct_kernels"]
  assert before["compiling"] == 0 and after["cache_hits"] > 0
  built = before["cache_misses"] + after["cache_misses"]
  assert built == whole["cache_misses"]
