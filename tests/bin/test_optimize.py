"""The command as a user calls it, on the cpu device and without a model."""

import json
import os
import subprocess
import sys

import pytest

from jaxkern.agent import choose, session
from jaxkern.agent.graph import Graph
from jaxkern.tasks import suite
from jaxkern.tasks.bundle import write_bundle
from jaxkern.training import proposers

TASK = """
from jaxkern.tasks.define import define

TASK = define(
  "double",
  "x[n] -> y[n]",
  "y = 2 * x",
  sizes={"n": (1, 7, 4099, 64, 1 << 20)},
  kernel="",
)
"""


def run(directory, program, *flags, status=0):
  done = subprocess.run(
    [sys.executable, "-m", f"jaxkern.bin.{program}", *flags],
    cwd=directory,
    env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    capture_output=True,
    text=True,
    timeout=500,
  )
  assert done.returncode == status, done.stderr
  return done.stdout if status == 0 else done.stderr


def test_a_task_is_optimised_and_the_search_goes_on(tmp_path):
  flags = ["--task=rms_norm_linear_bf16", "--repetitions=8", "--parallel=2"]
  run(tmp_path, "optimize", *flags, "--evaluations=2")
  said = run(tmp_path, "optimize", *flags, "--evaluations=4")
  results = tmp_path / "runs/optimize/rms_norm_linear_bf16-cpu"
  summary = json.loads((results / "summary.json").read_text())
  assert summary["evaluations"] == 4
  assert "report.html" in said
  assert (results / "best.cu").read_text().count("launch(") == 1
  assert "<svg" in (results / "report.html").read_text()
  listed = run(tmp_path, "experience", "list")
  assert "4 cases" in listed
  assert "nothing wrong" in run(tmp_path, "experience", "check")


def test_ones_own_kernel_and_bundle(tmp_path):
  """Speedups are over the kernel that one came with."""
  task = suite.get("relu")
  write_bundle(task, tmp_path / "relu")
  (tmp_path / "mine.cu").write_text("// Mine.\n" + task.baseline)
  flags = ["--bundle=relu", "--kernel=mine.cu", "--workdir=out"]
  run(tmp_path, "optimize", *flags, "--evaluations=2", "--repetitions=8")
  summary = json.loads((tmp_path / "out/summary.json").read_text())
  assert summary["statuses"] == {"ok": 2}
  copied = (tmp_path / "out/bundle/baseline.cu").read_text()
  assert copied.startswith("// Mine.")


def test_ones_own_kernel_with_a_reference(tmp_path):
  (tmp_path / "double.py").write_text(TASK)
  (tmp_path / "mine.cu").write_text(
    "__global__ void kernel(const float* x, float* y, int64_t n) {\n"
    "  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;\n"
    "  if (i >= n) return;\n"
    "  float v = x[i];\n"
    "  y[i] = 2 * v;\n"
    "}\n"
    'extern "C" int launch(const float* x, float* y, int64_t n,'
    " cudaStream_t stream) {\n"
    "  kernel<<<(n + 63) / 64, 64, 0, stream>>>(x, y, n);\n"
    "  return cudaGetLastError();\n}\n"
  )
  flags = ["--task=double.py", "--kernel=mine.cu", "--workdir=out"]
  run(tmp_path, "optimize", *flags, "--evaluations=2", "--repetitions=8")
  summary = json.loads((tmp_path / "out/summary.json").read_text())
  assert summary["statuses"]["ok"] == 2


def test_a_wrong_flag_is_one_line(tmp_path):
  said = run(tmp_path, "optimize", "--bundle=missing", status=2)
  assert "bundle: expected a problem bundle" in said
  assert "Traceback" not in said


@pytest.mark.parametrize(
  ("asked", "complaint"),
  [
    (lambda: choose.subject(None, None, "", "w"), "expected one of the two"),
    (lambda: choose.subject("relu", "b", "", "w"), "expected one of the two"),
    (lambda: choose.subject("nothing", None, "", "w"), "nothing"),
    (lambda: choose.proposer("http://x/v1", None, 10), "model: expected"),
    (lambda: proposers.of_checkpoint("none", 1), "expected a run's directory"),
  ],
)
def test_what_there_is_not_is_named(asked, complaint):
  with pytest.raises(ValueError, match=complaint):
    asked()


def test_a_session_is_of_one_thing(tmp_path):
  with Graph(tmp_path / "g.db") as graph:
    one = choose.identity(choose.subject("relu", None, "", "w"), "cpu")
    session.check_session(graph, "s", one)
    session.check_session(graph, "s", one)
    with pytest.raises(ValueError, match="session: 's' is of"):
      session.check_session(graph, "s", {**one, "device": "cuda"})
