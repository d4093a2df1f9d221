"""How the benchmark of XLA's kernels reads a trace; no GPU."""

import importlib.util
import pathlib
import sys

import jax
import pytest

from jaxkern.tasks import suite
from jaxkern.tasks.task import shape_of

BENCHMARKS = pathlib.Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(scope="module")
def xla_baseline():
  sys.path.insert(0, str(BENCHMARKS))
  try:
    spec = importlib.util.spec_from_file_location(
      "xla_baseline", BENCHMARKS / "xla_baseline.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
  finally:
    sys.path.remove(str(BENCHMARKS))
  return module


def test_a_call_lasts_from_its_first_kernel_to_its_last(xla_baseline):
  events = [
    (9000, 9500, False),  # Before the first flush: not a call of ours.
    (10000, 20000, True),
    (21000, 23000, False),
    (24000, 24500, False),
    (30000, 40000, True),
    (41000, 42000, False),
    (50000, 60000, True),
  ]
  assert xla_baseline.calls(reversed(events)) == [3.5, 1.0]


def test_tasks_get_a_size_that_fills_a_gpu(xla_baseline):
  task = xla_baseline.at_size("scale")
  assert task.cases == ({"n": 1 << 24, "a": task.cases[0]["a"]},)
  assert task.timed == (0,)


def test_a_task_of_the_suite_has_its_own_large_size(xla_baseline):
  task = xla_baseline.at_size("causal_attention_bf16")
  assert task.cases == task.large and task.timed == (0,) and not task.kinds


@pytest.mark.parametrize(
  "name", ["causal_attention_bf16", "adam_f32", "top_k_bf16", "rope_bf16"]
)
def test_references_run_in_the_tasks_own_dtypes(
  xla_baseline, monkeypatch, name
):
  monkeypatch.setattr(xla_baseline, "FLUSH_BYTES", 64)
  task = suite.get(name)
  task = task._replace(cases=task.cases[-1:])
  with jax.numpy_rank_promotion("allow"):
    made = xla_baseline.contestant(task)(3)
  outputs = [a for a in task.arguments if a.kind == "output"]
  for array, argument in zip(made, outputs, strict=True):
    assert array.shape == shape_of(argument, task.cases[0])
    assert array.dtype.name == argument.dtype
