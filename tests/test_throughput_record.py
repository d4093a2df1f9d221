"""What the throughput benchmark writes can be read and drawn."""

import json
import pathlib
import sys

import pytest

BENCHMARKS = pathlib.Path(__file__).parent.parent / "benchmarks"


@pytest.fixture
def benchmarks(monkeypatch):
  monkeypatch.syspath_prepend(str(BENCHMARKS))
  names = ("record", "throughput_plot", "torch_candidates")
  yield [__import__(name) for name in names]
  for name in (*names, "native_candidates"):
    sys.modules.pop(name, None)


def test_keys_that_are_numbers_are_json(benchmarks, tmp_path):
  record, _, _ = benchmarks
  path = tmp_path / "record.json"
  record.write(path, {"scaling": {1: {"a": [1, 2]}, 16: {}}, "x": None})
  read = json.loads(path.read_text())
  assert read == {"scaling": {"1": {"a": [1, 2]}, "16": {}}, "x": None}


def test_the_same_records_give_the_same_picture(benchmarks, tmp_path):
  _, plot, _ = benchmarks
  measured = {
    "device": "cpu",
    "form": "torch",
    "scaling": {
      str(n): {
        "candidates_per_s": 3.0 * n,
        "stage_s_mean": {"compile_s": 0.25, "run_s": 0.125},
      }
      for n in (1, 2, 16)
    },
  }
  pictures = [tmp_path / "one.svg", tmp_path / "two.svg"]
  for picture in pictures:
    plot.draw(picture, [measured])
  one, two = (picture.read_text() for picture in pictures)
  assert one == two
  assert "<svg" in one


def test_torch_candidates_are_distinct_and_call_load_inline(benchmarks):
  _, _, torch_candidates = benchmarks
  made = torch_candidates.candidates(3)
  assert len({source for _, source in made}) == 3
  for _, source in made:
    compile(source, "candidate.py", "exec")
    assert (
      "load_inline(" in source and "std::vector<torch::Tensor> run(" in source
    )
