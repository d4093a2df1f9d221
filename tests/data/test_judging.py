"""The real evaluator's word on candidates, and a kill in the middle of it."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pyarrow.parquet
import pytest

from jaxkern.data import judging
from jaxkern.data.judging import Settings
from jaxkern.evaluator import Evaluator
from jaxkern.tasks import suite

SETTINGS = Settings("cpu", "task", (11, 12), 10, 2, 20.0)
CONFIG = pathlib.Path(__file__).parents[2] / "configs/curate.py"
TASK = suite.get("relu")


@pytest.fixture(scope="module")
def judge(tmp_path_factory):
  bundles = judging.prepare(TASK, SETTINGS, tmp_path_factory.mktemp("b") / "b")
  cache = tmp_path_factory.mktemp("cache")
  with Evaluator("cpu", cache_dir=cache, seed=1) as evaluator:
    yield lambda text: judging.judge(evaluator, bundles, text, SETTINGS)


def test_a_right_kernel_is_checked_everywhere_and_timed(judge):
  record = judge(TASK.baseline)
  assert (record["stage"], record["status"]) == ("done", "ok")
  assert len(record["times_us"]) >= 10 and record["speedup"] > 0.2
  sizes = record["checked_sizes"]
  assert all(dict(case) in sizes for case in (*TASK.cases, *TASK.hidden))
  assert record["timed_size"] == {"n": 65537}
  assert record["kinds"] == list(TASK.kinds) and record["seeds"] == [11, 12]
  assert record["device"].startswith("cpu: ")


@pytest.mark.parametrize(
  ("old", "new", "stage", "status", "raw"),
  [
    ("fmaxf(", "maximum(", "compile", "compile_error", "compile_error"),
    ("fmaxf(v, 0.0f)", "v", "check", "wrong_answer", "wrong_answer"),
    # Right without the rules; the rules come first.
    (
      "__global__",
      "#include <fcntl.h>\n__global__",
      "honest",
      "cheating",
      "ok",
    ),
  ],
)
def test_others_fall_at_their_stage(judge, old, new, stage, status, raw):
  record = judge(TASK.baseline.replace(old, new, 1))
  assert (record["stage"], record["status"]) == (stage, status)
  assert record["raw_status"] == raw and "seeds" not in record
  assert len(record["log"]) <= 600


def test_hidden_sizes_are_among_those_checked(judge):
  special = "if (n == 2048) return;\n  int64_t i ="
  record = judge(TASK.baseline.replace("int64_t i =", special, 1))
  assert (record["stage"], record["status"]) == ("check", "wrong_answer")


def test_sizes_that_fill_a_gpu():
  suite_task, primer = suite.get("layer_norm_f32"), suite.get("row_sum_scale")
  timed = judging.timed_task(suite_task, "large")
  assert timed.cases == (suite_task.large[0],) and timed.kinds == ()
  timed = judging.timed_task(primer, "large")
  assert timed.cases[0]["rows"] == 4096 and timed.cases[0]["a"] != 0
  assert judging.timed_task(suite.get("matmul"), "large").cases == (
    {"m": 1024, "k": 1024, "n": 1024},
  )
  assert judging.timed_task(primer, "task").cases == (primer.cases[-1],)


def test_a_killed_curation_goes_on_where_it_was(tmp_path):
  """The command itself, with the real evaluator and a real SIGKILL."""
  source, work = tmp_path / "mine.jsonl", tmp_path / "work"
  grids = (64, 96, 128, 160, 192, 224)
  texts = [TASK.baseline.replace("256", str(grid)) for grid in grids]
  rows = [json.dumps({"task": "relu", "kernel": text}) for text in texts]
  source.write_text("\n".join(["{broken", *rows]) + "\n")
  command = [sys.executable, "-m", "jaxkern.bin.curate"]
  command += [f"--config={CONFIG}:tiny-files", f"--workdir={work}"]
  command += [f"--source={source}", "--config.keep=0.001", "--config.lower=()"]
  environment = {**os.environ, "JAXKERN_CACHE": str(tmp_path / "cache")}
  verdicts = work / "verdicts.jsonl"

  def kept():
    whole = verdicts.read_text() if verdicts.exists() else ""
    return [
      json.loads(x)["key"] for x in whole[: whole.rfind("\n") + 1].splitlines()
    ]

  process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE)
  deadline = time.monotonic() + 300
  while len(kept()) < 2 and process.poll() is None:
    assert time.monotonic() < deadline
    time.sleep(0.01)
  process.send_signal(signal.SIGKILL)
  process.communicate()
  before = kept()
  assert process.returncode == -signal.SIGKILL and 2 <= len(before) < 6
  done = subprocess.run(
    command, env=environment, capture_output=True, text=True
  )
  assert done.returncode == 0, done.stderr
  assert kept()[: len(before)] == before and len(set(kept())) == 6
  assert f"{len(before)}/6" in done.stderr and "<" in done.stderr  # Time left.
  assert "malformed" not in done.stderr
  rejected = (work / "rejected.jsonl").read_text()
  assert '"malformed"' in rejected and "not JSON" in rejected
  card = (work / "README.md").read_text()
  assert "| not JSON | 1 |" in card and not (work / "scratch").exists()
  # Texts that differ in a number or two are near-duplicates of the fastest.
  assert pyarrow.parquet.read_table(work / "data/kept.parquet").num_rows == 1
