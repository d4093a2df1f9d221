"""What the command does with its config and its sources."""

import importlib.util
import json
import pathlib

import pytest

from jaxkern.tasks import suite
from jaxkern.training import cuke

FILE = pathlib.Path(__file__).parents[2] / "configs/curate.py"


def get_config(variant):
  spec = importlib.util.spec_from_file_location("curate_config", FILE)
  module = importlib.util.module_from_spec(spec)
  spec.loader.exec_module(module)
  return module.get_config(variant)


def test_variants_of_the_config():
  assert get_config("h200").verdict.device == "cuda"
  assert get_config("h200").generate.variants >= 4000
  files = get_config("h200-files")
  assert files.generate.variants == files.generate.styles == 0
  for wrong in ("h100", "cpu-folder"):
    with pytest.raises(ValueError, match="expected curate.py:cpu, :h200"):
      get_config(wrong)


def test_no_source_and_one_that_is_none_are_refused(tmp_path):
  config = get_config("tiny-files")
  with pytest.raises(ValueError, match="--source: expected a file or folder"):
    cuke.run(config, tmp_path)
  with pytest.raises(ValueError, match="source: expected a .jsonl"):
    cuke.run(config, tmp_path, [str(tmp_path / "gone.parquet")])
  assert not (tmp_path / "README.md").exists()


def test_rows_of_generators_and_of_files(tmp_path):
  path = tmp_path / "rows.jsonl"
  path.write_text(json.dumps({"task": "relu", "kernel": "__global__ x"}) + "\n")
  tasks = cuke.known_tasks(())
  made = list(cuke.rows(get_config("tiny").generate, tasks, [str(path)]))
  assert [r.origin["source"] for r in made] == [
    *["variants"] * 6,
    *["styles"] * 3,
    "jsonl",
  ]
  assert all(suite.get(r.task).split == "train" for r in made)


def test_tasks_and_evaluations_of_files(tmp_path):
  file = tmp_path / "mine.jsonl"
  own = {
    "name": "twice",
    "signature": "x[n] -> y[n]",
    "reference": "y = x + x",
    "sizes": {"n": [1, 5, 9, 7, 64]},
    "threads": "n",
    "kernel": "y[i] = x[i] + x[i];",
  }
  file.write_text(json.dumps(own) + "\n")
  assert "twice" in cuke.known_tasks([str(file)])
  names = {e.name for e in cuke.evaluated(["held_out", str(file)])}
  assert {"twice", "adam_f32", "add_gelu"} <= names
  level = tmp_path / "KernelBench/level1"
  level.mkdir(parents=True)
  (level / "19_ReLU.py").write_text("class Model: pass\n")
  (problem,) = cuke.evaluated([str(tmp_path)])
  assert "ReLU" in problem.name and problem.kernels == ()
