"""How the benchmark of XLA's kernels reads a trace; no GPU."""

import importlib.util
import pathlib
import sys

import pytest

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
