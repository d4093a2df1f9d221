"""The bench: order, limits, what is not kept, and pairs with PyTorch."""

import importlib.util
import itertools
from types import SimpleNamespace

import pytest

from jaxkern.data import bench, judging
from jaxkern.data.judging import Bundles, Settings
from jaxkern.data.sources import Candidate
from jaxkern.tasks import suite

SETTINGS = Settings("cpu", "task", (1,), 10, 2, 20.0)
TASKS = {n: suite.get(n) for n in ("relu", "row_sum", "mlp_gelu_f32")}
REFERENCE = """import torch
import torch.nn as nn

class Model(nn.Module):
  def __init__(self):
    super().__init__()

  def forward(self, x):
    return torch.relu(x)

def get_inputs():
  return [torch.randn(96, 1024)]

def get_init_inputs():
  return []
"""
KERNEL = '''import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
__global__ void relu(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] > 0.0f ? x[i] : 0.0f;
}
torch::Tensor run(torch::Tensor x) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  relu<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""
ext = load_inline(name="ext", cpp_sources="torch::Tensor run(torch::Tensor x);",
                  cuda_sources=source, functions=["run"])

class ModelNew(nn.Module):
  def __init__(self):
    super().__init__()

  def forward(self, x):
    return ext.run(x)
'''


class NoEvaluator:
  def __init__(self, device):
    assert device == SETTINGS.device

  def __enter__(self):
    return self

  def __exit__(self, *exception):
    pass


@pytest.fixture
def asked(monkeypatch):
  """What is asked, in order, of a bench that starts nothing."""
  made = []

  def judge(evaluator, bundles, kernel, settings):
    made.append(kernel)
    status = "infra_error" if "broken" in kernel else "ok"
    return {"stage": "done", "status": status, "speedup": 1.0}

  def prepare(task, settings, place):
    made.append(f"bundle of {task.name}")
    return Bundles((), "", {})

  monkeypatch.setattr(bench, "Evaluator", NoEvaluator)
  monkeypatch.setattr(judging, "judge", judge)
  monkeypatch.setattr(judging, "prepare", prepare)
  return made


def judge_all(workdir, pending, limit_s=0.0):
  kept = {}
  bench.judge_all(
    pending,
    len(pending) + 3,
    TASKS,
    SETTINGS,
    workdir,
    lambda candidate, record: kept.update({candidate.kernel: record}),
    limit_s,
  )
  return kept


def of(task, *kernels):
  return [Candidate(task, "", kernel, {"source": "x"}) for kernel in kernels]


def test_a_task_after_the_other_cheap_ones_first(tmp_path, asked, capsys):
  pending = of("mlp_gelu_f32", "d") + of("relu", "b") + of("row_sum", "a")
  kept = judge_all(tmp_path, pending + of("relu", "c"))
  bundles = [text for text in asked if text.startswith("bundle")]
  assert bundles == [
    "bundle of row_sum",
    "bundle of relu",
    "bundle of mlp_gelu_f32",
  ]
  assert asked[1] == "a" and sorted(asked[3:5]) == ["b", "c"]
  assert sorted(kept) == ["a", "b", "c", "d"]
  assert not (tmp_path / "scratch").exists()
  assert "7/7" in capsys.readouterr().err  # Three had a verdict before.


def test_our_own_failures_are_no_verdicts(tmp_path, asked):
  assert list(judge_all(tmp_path, of("relu", "broken", "b"))) == ["b"]
  assert sorted(asked[1:]) == ["b", "broken"]


def test_no_verdict_begins_after_the_limit(tmp_path, asked, monkeypatch):
  seconds = itertools.chain([0.0, 1.0, 1.0], itertools.repeat(9.0))
  clock = SimpleNamespace(monotonic=lambda: next(seconds))
  monkeypatch.setattr(bench, "time", clock)
  kept = judge_all(tmp_path, of("relu", "a") + of("row_sum", "b"), limit_s=5.0)
  assert len(kept) <= 1 and "bundle of relu" not in asked


def test_one_that_cannot_be_kept_ends_it(tmp_path, asked):
  def full(candidate, record):
    raise OSError("no room")

  with pytest.raises(OSError, match="no room"):
    bench.judge_all(of("relu", "a"), 1, TASKS, SETTINGS, tmp_path, full)
  assert not (tmp_path / "scratch").exists()


def test_pairs_wait_where_there_is_no_torch(
  tmp_path, asked, monkeypatch, capsys
):
  def missing():
    raise ValueError("torch: not installed")

  monkeypatch.setattr(bench, "TorchWorker", missing)
  pair = Candidate("", REFERENCE, KERNEL, {"source": "x"})
  assert list(judge_all(tmp_path, [*of("relu", "a"), pair])) == ["a"]
  assert "1 PyTorch rows unjudged: torch: not" in capsys.readouterr().out


def test_pairs_are_judged_as_in_kernelbench(tmp_path):
  if importlib.util.find_spec("torch") is None:
    pytest.skip("torch is not installed (extra [torch])")
  wrong = KERNEL.replace("x[i] : 0.0f", "x[i] : 1.0f")
  pending = [
    Candidate("", REFERENCE, text, {"source": "x"}) for text in (KERNEL, wrong)
  ]
  kept = judge_all(tmp_path, pending)
  right = kept[KERNEL]
  # Right, but nothing to be faster than: eager torch is timed on GPUs only.
  assert (right["stage"], right["status"]) == ("time", "untimed"), right["log"]
  assert right["times_us"] and right["seeds"]
  assert (kept[wrong]["stage"], kept[wrong]["status"]) == (
    "check",
    "wrong_answer",
  )
