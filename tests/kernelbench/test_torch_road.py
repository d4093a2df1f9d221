"""The torch road with a worker that leaves what it is told to; no torch."""

import json
import os
import pathlib
import threading

import numpy as np
import pytest

from jaxkern.evaluator import Evaluator, Request, device_lock
from jaxkern.evaluator.pairs import Judge
from jaxkern.tasks import suite
from jaxkern.tasks.kernelbench import Prepared


class Described:
  """Stands for an evaluator whose device has a name of its own."""

  def describe(self):
    """As an Evaluator's."""
    return f"device of test {os.getpid()}; and more"


SHAPE = {"dtype": "float32", "shape": [4]}
EXPECTED = np.float32([1, 2, 3, 4])


class Worker:
  """Answers every job with `answer` and leaves what `leave` makes."""

  def __init__(self, leave, **answer):
    """As `answer` for a candidate; baselines take `base` us."""
    self.leave, self.base, self.jobs = leave, [30.0], 0
    entry = {"file": "out0.0.npy", **SHAPE}
    self.answer = {"status": "ok", "outputs": [[entry]], "times_us": [10.0]}
    self.answer |= answer

  def run(self, job, directory, timeout_s=0.0):
    """The job 'gpu'."""
    self.jobs += 1
    if not job["candidate"]:
      status = "ok" if self.base else "crash"
      return {"status": status, "times_us": self.base, "log": "base"}
    self.leave(pathlib.Path(directory))
    return json.loads(json.dumps(self.answer))


@pytest.fixture(autouse=True)
def no_lock_is_left():
  yield
  device_lock.path(Described()).unlink(missing_ok=True)


@pytest.fixture
def prepared(tmp_path):
  directory = tmp_path / "prepared"
  directory.mkdir()
  np.save(directory / "out0.0.npy", EXPECTED)
  outputs = [{"file": "out0.0.npy", **SHAPE}]
  facts = {
    "reduced": False,
    "measure": {"full": {}, "sizes": {}},
    "reference": {
      "variants": [{"inputs": [], "outputs": outputs}],
      "rtol": 1e-5,
      "atol": 1e-5,
      "tolerance": "derived",
    },
  }
  return Prepared(directory, "", facts)


def judged(worker, prepared, tmp_path):
  made = Judge(Described(), worker, tmp_path, device="cuda")
  made.prepare = lambda reference: prepared
  return made.judge("", "text", road="torch")


def test_right_and_wrong_outputs_are_told_apart(prepared, tmp_path):
  for found, status in (
    (EXPECTED, "ok"),
    (EXPECTED + 1, "wrong_answer"),
  ):
    worker = Worker(lambda d, x=found: np.save(d / "out0.0.npy", x))
    verdict = judged(worker, prepared, tmp_path)
    assert verdict["status"] == verdict["kernelbench_status"] == status
    assert verdict["us"] == 10.0


@pytest.mark.parametrize(
  "other",
  [{"shape": [1]}, {"shape": [1, 4]}, {"dtype": "int32"}],
)
def test_outputs_are_not_broadcast_or_converted(prepared, tmp_path, other):
  entry = {"file": "out0.0.npy", **SHAPE, **other}
  made = np.zeros(entry["shape"], entry["dtype"])
  worker = Worker(lambda d: np.save(d / "out0.0.npy", made), outputs=[[entry]])
  verdict = judged(worker, prepared, tmp_path)
  assert verdict["status"] == "wrong_answer"
  assert "expected float32[4]" in verdict["log"]


def test_expected_outputs_do_not_pass_for_the_candidates(prepared, tmp_path):
  target = prepared.directory / "out0.0.npy"
  entry = {"file": str(target), **SHAPE}
  for worker in (
    Worker(lambda d: (d / "out0.0.npy").symlink_to(target)),
    Worker(lambda d: None, outputs=[[entry]]),
    Worker(lambda d: None),
  ):
    verdict = judged(worker, prepared, tmp_path)
    assert verdict["status"] == verdict["kernelbench_status"] == "crash"
    assert verdict["log"].startswith("the job's result: ")
    assert verdict["us"] == 0 and not verdict["times_us"]


@pytest.mark.parametrize(
  "answer",
  [
    {"outputs": None},
    {"outputs": []},
    {"outputs": [3]},
    {"outputs": [[3]]},
    {"outputs": [[{"file": "out0.0.npy"}]]},
    {"times_us": None},
    {"times_us": [0]},
    {"times_us": ["1"]},
    {"times_us": [float("nan")]},
    {"times_us": [-1.0]},
  ],
)
def test_report_that_cannot_be_is_a_crash(prepared, tmp_path, answer):
  worker = Worker(lambda d: np.save(d / "out0.0.npy", EXPECTED), **answer)
  assert judged(worker, prepared, tmp_path)["status"] == "crash"


def test_verdicts_have_speedups_of_their_own(prepared, tmp_path):
  worker = Worker(lambda d: np.save(d / "out0.0.npy", EXPECTED))
  made = Judge(Described(), worker, tmp_path, device="cuda")
  made.prepare = lambda reference: prepared
  first = made.judge("", "text", road="torch")
  worker.answer["times_us"] = [15.0]
  second = made.judge("", "text", road="torch")
  assert worker.jobs == 3  # The baseline is measured once.
  for verdict, speedup in ((first, 3.0), (second, 2.0)):
    assert verdict["speedup"] == speedup
    assert verdict["baselines"]["eager"]["speedup"] == speedup


def test_baseline_that_failed_is_measured_again(prepared, tmp_path):
  worker = Worker(lambda d: np.save(d / "out0.0.npy", EXPECTED))
  made = Judge(Described(), worker, tmp_path, device="cuda")
  made.prepare = lambda reference: prepared
  worker.base = []
  first = made.judge("", "text", road="torch")
  assert first["speedup"] == 0 and first["baselines"]["eager"]["us"] == 0
  worker.base = [20.0]
  assert made.judge("", "text", road="torch")["speedup"] == 2.0


def test_job_on_the_gpu_waits_until_nothing_is_timed_there(prepared, tmp_path):
  worker = Worker(lambda d: np.save(d / "out0.0.npy", EXPECTED))
  verdicts = []
  other = threading.Thread(
    target=lambda: verdicts.append(judged(worker, prepared, tmp_path))
  )
  with device_lock.held(Described()):
    other.start()
    other.join(0.5)
    assert not worker.jobs and not verdicts
  other.join(30)
  assert verdicts[0]["status"] == "ok"


def test_lock_is_the_evaluators_own(tmp_path):
  task = suite.get("add_relu")
  checked = Request(task, task.baseline)
  timed = checked._replace(repetitions=2)
  with Evaluator("cpu", cache_dir=tmp_path) as evaluator:
    # From here on all builds are in the cache.
    assert evaluator.evaluate([timed])[0].status == "ok"
    with device_lock.held(evaluator):
      assert evaluator.evaluate([checked])[0].status == "ok"
      evaluator.submit(timed)
      assert evaluator.next(2.0) is None
    _, result = evaluator.next(60.0)
    assert result.status == "ok" and result.times_us
