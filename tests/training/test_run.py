"""Whole runs of the tiny config, real compilers included."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

TINY = [
  sys.executable,
  "-m",
  "jaxkern.bin.train",
  "--config=configs/leap.py:tiny",
]


def descendants(pid):
  """Processes below pid, by /proc."""
  parents = {}
  for entry in os.listdir("/proc"):
    if entry.isdigit():
      try:
        with open(f"/proc/{entry}/stat") as file:
          parents[int(entry)] = int(file.read().rpartition(")")[2].split()[1])
      except OSError:  # It ended meanwhile.
        continue
  found, new = set(), {pid}
  while new:
    new = {child for child, parent in parents.items() if parent in new}
    found |= new
  return found


def alive(pid):
  try:
    with open(f"/proc/{pid}/stat") as file:
      return file.read().rpartition(")")[2].split()[0] != "Z"
  except OSError:
    return False


@pytest.fixture(scope="module")
def rundir(tmp_path_factory):
  """A tiny run that was killed in its warm start and then finished."""
  directory = tmp_path_factory.mktemp("run")
  environment = {**os.environ, "JAXKERN_CACHE": str(directory / "cache")}
  command = [*TINY, f"--workdir={directory / 'run'}"]
  process = subprocess.Popen(command, env=environment)
  deadline = time.monotonic() + 120
  corpus = directory / "run" / "corpus.jsonl"
  while not (corpus.exists() and corpus.read_text().count("\n") >= 20):
    assert process.poll() is None and time.monotonic() < deadline
    time.sleep(0.05)
  children = descendants(process.pid)
  assert children, "the evaluator has no children"
  process.send_signal(signal.SIGKILL)
  process.wait()
  deadline = time.monotonic() + 5
  while any(map(alive, children)) and time.monotonic() < deadline:
    time.sleep(0.05)
  assert not [pid for pid in children if alive(pid)]

  before = corpus.read_text().splitlines()
  done = subprocess.run(
    command, env=environment, capture_output=True, text=True, timeout=300
  )
  assert done.returncode == 0, done.stderr
  assert corpus.read_text().splitlines()[: len(before)] == before
  return directory / "run", done.stdout, environment


def test_a_killed_run_continues_to_its_summary_and_page(rundir):
  directory, output, _ = rundir
  summary = json.loads((directory / "summary.json").read_text())
  assert set(summary["before"]) >= {"pass@1", "pass@2", "n"}
  assert summary["after"]["n"] == 4 and summary["seconds"] > 0
  assert "report.html" in output and "rl 2/2" in output
  page = (directory / "report.html").read_text()
  assert "src=" not in page and "<link" not in page


def test_a_finished_run_is_not_run_again(rundir):
  directory, _, environment = rundir
  samples = (directory / "after.jsonl").read_bytes()
  done = subprocess.run(
    [*TINY, f"--workdir={directory}"],
    env=environment,
    capture_output=True,
    text=True,
    timeout=120,
  )
  assert done.returncode == 0 and "rl 2/2" not in done.stdout
  assert (directory / "after.jsonl").read_bytes() == samples


def test_generate_prints_a_kernel_and_its_evaluation(rundir):
  directory, _, environment = rundir
  done = subprocess.run(
    [
      *(sys.executable, "-m", "jaxkern.bin.generate"),
      *(f"--checkpoint={directory}", "--task=relu", "--turns=1"),
    ],
    env=environment,
    capture_output=True,
    text=True,
    timeout=120,
  )
  assert done.returncode == 0, done.stderr
  assert done.stdout.startswith("// turn 1") and '"status"' in done.stdout
  assert "g++" in done.stderr or "c++" in done.stderr  # Says what it took.


@pytest.mark.parametrize(
  "arguments, said",
  [
    (
      ["--config=configs/leap.py:tiny", "--config.rl.stepz=1"],
      "error: 'stepz' Did you mean \"steps\"",
    ),
    (
      ["--config=configs/leap.py:tiny", "--workdir=/proc/x"],
      "error: /proc/x: No such file or directory",
    ),
    (["--config=configs/leap.py:tiny"], "workdir"),
    (["--config=configs/leap.py:large", "--workdir=x"], "large"),
  ],
)
def test_misuse_is_one_line_and_a_nonzero_exit(arguments, said):
  done = subprocess.run(
    [sys.executable, "-m", "jaxkern.bin.train", *arguments],
    capture_output=True,
    text=True,
    timeout=120,
  )
  assert done.returncode != 0
  assert "Traceback" not in done.stderr
  assert said in done.stderr.strip().splitlines()[-1]


def test_another_config_in_the_same_directory_is_refused(rundir):
  directory, _, environment = rundir
  done = subprocess.run(
    [*TINY, f"--workdir={directory}", "--config.seed=7"],
    env=environment,
    capture_output=True,
    text=True,
    timeout=120,
  )
  assert done.returncode == 2
  assert "seed: there 0, asked for 7" in done.stderr
