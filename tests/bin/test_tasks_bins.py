"""What a person sees of tasks on the command line."""

import importlib.util
import json
import subprocess
import sys

import pytest

from jaxkern.tasks import suite
from jaxkern.tasks.task import signature


def run(program, *arguments):
  command = [sys.executable, "-m", f"jaxkern.bin.{program}", *arguments]
  done = subprocess.run(command, capture_output=True, text=True, timeout=120)
  return done.returncode, done.stdout, done.stderr


def test_tasks_prints_a_table():
  code, out, _ = run("tasks", "--split=test")
  assert code == 0
  lines = out.splitlines()
  columns = "name level family split dtype difficulty tags summary"
  assert lines[0].split() == columns.split()
  assert [line.split()[0] for line in lines[1:]] == suite.names("test")
  assert "y = jax.nn.silu(x + b)" in out


def test_tasks_of_a_tag_with_their_difficulty():
  code, out, _ = run("tasks", "--set=suite", "--level=3", "--tag=paged")
  assert code == 0
  rows = [line.split()[:7] for line in out.splitlines()[1:]]
  tags = "attention,decode,cache,paged"
  assert [row[0] for row in rows] == [
    "paged_decode_attention_f32",
    "paged_decode_attention_bf16",
  ]
  for row in rows:
    assert row[6] == tags and int(row[5]) > 10


def test_tasks_shows_one_task():
  code, out, _ = run("tasks", "--task=softmax")
  assert code == 0
  task = suite.get("softmax")
  for text in (signature(task), task.summary, task.baseline.rstrip()):
    assert text in out


def test_export_bundle_writes_a_bundle(tmp_path):
  code, _, _ = run("export_bundle", "--task=add_int32", f"--out={tmp_path}/b")
  assert code == 0
  problem = json.loads((tmp_path / "b" / "problem.json").read_text())
  assert problem["name"] == "add_int32"


POOR = """
from jaxkern.tasks.define import define

TASK = define(
  "poor", "x[n], z[n] -> y[n]", "y = x", sizes={"n": (3, 40, 5, 7)}, kinds=()
)
"""


def test_lint_names_what_would_pass(tmp_path):
  path = tmp_path / "poor.py"
  path.write_text(POOR)
  code, out, _ = run("lint_task", f"--task={path}")
  assert code == 1
  assert out.splitlines() == [
    "poor: passes: copy of x",
    "poor: does not matter: z",
  ]
  code, out, _ = run("lint_task", "--task=softmax_f16")
  assert (code, out) == (0, "softmax_f16: no fault found\n")


@pytest.mark.skipif(
  importlib.util.find_spec("torch") is None, reason="extra [torch]"
)
def test_lint_reads_problems_of_kernelbench(tmp_path):
  path = tmp_path / "19_ReLU.py"
  path.write_text(
    "import torch\n"
    "class Model(torch.nn.Module):\n"
    "  def forward(self, x, z):\n"
    "    return torch.relu(x)\n"
    "def get_inputs():\n"
    "  return [torch.rand(64, 9), torch.rand(3)]\n"
    "def get_init_inputs():\n"
    "  return []\n"
  )
  code, out, _ = run("lint_task", f"--reference={path}")
  assert code == 1
  assert out.splitlines() == [
    "19_ReLU: passes: copy of x0",
    "19_ReLU: does not matter: x1",
  ]


@pytest.mark.parametrize(
  ("program", "arguments", "message"),
  [
    ("tasks", ["--task=softmx"], "did you mean softmax"),
    ("tasks", ["--level=7"], "level: expected 1, 2 or 3, got 7"),
    ("tasks", ["softmax"], "unexpected arguments: softmax"),
    ("lint_task", [], "expected one of --task and --reference"),
    ("lint_task", ["--reference=/no.py"], "expected a file, got /no.py"),
    ("export_bundle", ["--task=add", "--out=/proc/b"], "cannot write /proc/b"),
    ("export_bundle", ["--task=add", "--out=/usr"], "new or empty directory"),
  ],
)
def test_misuse_is_one_line_and_exit_code_2(program, arguments, message):
  code, out, err = run(program, *arguments)
  assert code == 2 and out == ""
  assert err.startswith("error: ") and message in err
  assert err.count("\n") == 1
