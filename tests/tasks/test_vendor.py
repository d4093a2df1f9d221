"""Baselines that call libraries, over the cpu device and stand-ins for these.

They show that the calls mean what they should: which operand, which way round,
which leading dimension. tests/evaluator/test_cuda.py has the real libraries.
"""

import pathlib
import re

import pytest

from jaxkern.evaluator import Evaluator, Request
from jaxkern.tasks import suite

LIBRARIES = pathlib.Path(__file__).parent / "libraries"
NAMES = [n for n in suite.names() if suite.get(n).baselines]


def with_our_libraries(source: str) -> str:
  """The text with our libraries in place of what it includes."""

  def ours(match):
    path = LIBRARIES / pathlib.Path(match[1]).name
    return path.read_text() if path.exists() else ""

  return re.sub(r"#include <(.*)>\n", ours, source)


def test_families_that_libraries_have_are_covered():
  def covered(family):
    names = [n for n in suite.names() if suite.recipe(n).family == family]
    return len([n for n in names if n in NAMES]), len(names)

  for family in ("matmul", "matvec", "row_reduction"):
    assert covered(family)[0] == covered(family)[1]
  assert covered("transpose")[0] == 4
  assert covered("row_normalisation")[0] == 2
  assert covered("elementwise")[0] == 0


def test_libraries_are_those_that_are_included():
  headers = {"cublas_v2.h": "cublas", "cudnn.h": "cudnn", "cub/cub.cuh": "cub"}
  for name in NAMES:
    (kind, vendor) = next(iter(suite.get(name).baselines.items()))
    assert kind == "vendor"
    first = re.search(r"#include <(.*)>", vendor.source)[1]
    assert headers[first] == vendor.libraries[0]
    assert "TF32" not in vendor.source


def test_vendor_baselines_are_right(tmp_path):
  def request(name):
    """Made while those before it are judged."""
    task = suite.get(name)
    source = with_our_libraries(task.baselines["vendor"].source)
    return Request(task, source, rules=False)

  with Evaluator("cpu", cache_dir=tmp_path) as evaluator:
    results = evaluator.evaluate(map(request, NAMES))
  assert len(results) > 50
  wrong = {
    name: (result.status, result.log)
    for name, result in zip(NAMES, results, strict=True)
    if result.status != "ok"
  }
  assert not wrong


def test_wrong_way_round_would_be_found(tmp_path):
  task = suite.get("matmul")
  source = task.baselines["vendor"].source.replace("n, m, k,", "m, n, k,")
  with Evaluator("cpu", cache_dir=tmp_path) as evaluator:
    request = Request(task, with_our_libraries(source), rules=False)
    (result,) = evaluator.evaluate([request])
  assert result.status in ("wrong_answer", "launch_error", "runtime_error")


def test_vendor_baseline_is_left_out_on_the_cpu_device(tmp_path):
  task = suite.get("transpose")
  with Evaluator("cpu", cache_dir=tmp_path) as evaluator:
    request = Request(task, task.baseline, repetitions=10)
    (result,) = evaluator.evaluate([request])
  assert result.status == "ok"
  assert result.clocks is None
  assert set(result.baselines) == {"naive", "vendor"}
  assert result.baselines["vendor"] == {
    "us": 0,
    "speedup": 0,
    "speedup_low": 0,
    "speedup_high": 0,
    "note": "needs cublas: none for this device",
  }
  naive = result.baselines["naive"]
  assert naive["us"] == result.baseline_us > 0
  assert naive["speedup"] == pytest.approx(result.speedup)
  assert naive["speedup_low"] <= naive["speedup"] <= naive["speedup_high"]
