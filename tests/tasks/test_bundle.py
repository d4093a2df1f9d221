"""Bundles: what is in them, and how they get to their place."""

import json
import os

import numpy as np
import pytest

from jaxkern.tasks import bundle, suite
from jaxkern.tasks.bundle import write_bundle


def contents(directory):
  return {p.name: p.read_bytes() for p in directory.iterdir()}


def test_bundle_describes_the_task_and_its_cases(tmp_path):
  task = suite.get("scale_bf16")
  write_bundle(task, tmp_path / "b")
  problem = json.loads((tmp_path / "b" / "problem.json").read_text())
  assert set(problem) == {
    "format",
    "name",
    "level",
    "summary",
    "seed",
    "arguments",
    "cases",
    "preparation",
    "baseline",
    "baselines",
  }
  assert problem["format"] == 1
  assert problem["arguments"] == [
    {"name": "x", "kind": "input", "dtype": "bfloat16", "shape": ["n"]},
    {"name": "y", "kind": "output", "dtype": "bfloat16", "shape": ["n"]},
    {"name": "n", "kind": "attribute", "dtype": "int64", "shape": []},
    {"name": "a", "kind": "attribute", "dtype": "float32", "shape": []},
  ]
  assert problem["cases"][0] == {
    "attributes": {"n": 1, "a": 0.5},
    "rtol": 2.0**-6,
    "atol": 2.0**-7,
    "timed": False,
    "inputs": {"x": "case0.x.npy"},
    "outputs": {"y": "case0.y.npy"},
    "variants": [
      {
        "inputs": {"x": "case0.1.x.npy"},
        "outputs": {"y": "case0.1.y.npy"},
      }
    ],
  }
  timed = [c["timed"] for c in problem["cases"]]
  assert timed == [False] * 5 + [True] + [False] * len(task.kinds)
  assert (tmp_path / "b" / "baseline.cu").read_text() == task.baseline
  assert problem["baselines"] == []


def test_further_baselines_are_files_with_their_libraries(tmp_path):
  task = suite.get("matmul")
  write_bundle(task, tmp_path / "b")
  problem = json.loads((tmp_path / "b" / "problem.json").read_text())
  assert problem["baseline"] == "baseline.cu"
  assert problem["baselines"] == [
    {"name": "vendor", "file": "baseline.vendor.cu", "libraries": ["cublas"]}
  ]
  source = (tmp_path / "b" / "baseline.vendor.cu").read_text()
  assert source == task.baselines["vendor"].source


def test_variants_are_drawn_anew_and_answered(tmp_path):
  write_bundle(suite.get("scale"), tmp_path / "b")
  problem = json.loads((tmp_path / "b" / "problem.json").read_text())
  assert [len(c["variants"]) for c in problem["cases"]] == (
    [1] * 5 + [5] + [1] * len(suite.get("scale").kinds)
  )
  timed = problem["cases"][5]
  seen = set()
  for files in [timed, *timed["variants"]]:
    x = np.load(tmp_path / "b" / files["inputs"]["x"])
    y = np.load(tmp_path / "b" / files["outputs"]["y"])
    np.testing.assert_allclose(y, np.float32(timed["attributes"]["a"]) * x)
    seen.add(x.tobytes())
  assert len(seen) == 6


def test_every_kind_of_inputs_is_a_case_of_its_own(tmp_path):
  task = suite.get("row_sum")
  write_bundle(task, tmp_path / "b")
  problem = json.loads((tmp_path / "b" / "problem.json").read_text())
  probes = problem["cases"][len(task.cases) :]
  assert tuple(c["kind"] for c in probes) == task.kinds
  # Not the smallest size, and each of the others in turn.
  sizes = [tuple(c["attributes"].values()) for c in probes]
  assert sizes == [(29, 65), (4, 1023), (7, 32), (33, 3)]
  for case in probes:
    answers = set()
    for files in [case, *case["variants"]]:
      x = np.load(tmp_path / "b" / files["inputs"]["x"])
      y = np.load(tmp_path / "b" / files["outputs"]["y"])
      total = x.astype(np.float64).sum(1)
      assert (np.abs(y - total) <= case["rtol"] * np.abs(total)).all()
      answers.add(y.tobytes())
    assert len(answers) == 2
  ordinary = task.tolerance(problem["cases"][3]["attributes"])
  assert probes[1]["atol"] > ordinary[1] and probes[1]["rtol"] == ordinary[0]


def test_large_arrays_have_fewer_variants(tmp_path, monkeypatch):
  # 65,537 floats in and out are 524,296 bytes.
  for most, count in ((1 << 30, 6), (4 * 524_296, 4), (1, 2)):
    monkeypatch.setattr(bundle, "MOST_BYTES", most)
    write_bundle(suite.get("scale")._replace(kinds=()), tmp_path / "b")
    problem = json.loads((tmp_path / "b" / "problem.json").read_text())
    assert len(problem["cases"][-1]["variants"]) + 1 == count


def test_bfloat16_arrays_are_their_bits(tmp_path):
  write_bundle(suite.get("scale_bf16"), tmp_path / "b")
  x = np.load(tmp_path / "b" / "case0.x.npy")
  y = np.load(tmp_path / "b" / "case0.y.npy")
  assert x.dtype == y.dtype == np.uint16
  # y = x / 2: the exponent, whose lowest bit is bit 7, falls by one.
  np.testing.assert_array_equal(y, x - np.uint16(1 << 7))


def test_contents_depend_on_task_and_seed_alone(tmp_path):
  task = suite.get("row_sum_int32")
  for name, seed in (("a", 0), ("b", 0), ("c", 1)):
    write_bundle(task, tmp_path / name, seed)
  assert contents(tmp_path / "a") == contents(tmp_path / "b")
  assert contents(tmp_path / "a") != contents(tmp_path / "c")
  assert sorted(os.listdir(tmp_path)) == ["a", "b", "c"]


def test_same_bundle_is_left_and_another_replaced(tmp_path):
  target = tmp_path / "deep" / "bundle"
  write_bundle(suite.get("add_int32"), target)
  before = os.stat(target).st_ino
  write_bundle(suite.get("add_int32"), target)
  assert os.stat(target).st_ino == before
  write_bundle(suite.get("row_sum_int32"), target)
  assert json.loads((target / "problem.json").read_text())["name"] == (
    "row_sum_int32"
  )
  assert os.listdir(target.parent) == ["bundle"]


def test_empty_directory_is_taken_and_foreign_files_are_kept(tmp_path):
  write_bundle(suite.get("add_int32"), tmp_path)
  assert (tmp_path / "problem.json").exists()
  foreign = tmp_path / "home"
  foreign.mkdir()
  (foreign / "thesis.txt").write_text("mine")
  with pytest.raises(ValueError, match="directory: expected .* got .*home"):
    write_bundle(suite.get("add_int32"), foreign)
  assert (foreign / "thesis.txt").read_text() == "mine"


def test_failure_leaves_nothing_behind(tmp_path):
  def broken(inputs, attributes):
    raise ZeroDivisionError

  task = suite.get("add_int32")._replace(reference=broken)
  with pytest.raises(ZeroDivisionError):
    write_bundle(task, tmp_path / "b")
  assert os.listdir(tmp_path) == []


def test_place_that_cannot_be_written_is_an_os_error(tmp_path):
  (tmp_path / "file").write_text("")
  with pytest.raises(OSError):
    write_bundle(suite.get("add_int32"), tmp_path / "file" / "b")
