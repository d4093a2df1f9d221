"""The card as `datasets` reads it: its YAML head, its files, its rows."""

import importlib.util
import re

import pyarrow.parquet
import pytest
import yaml

from jaxkern.data import publication
from jaxkern.data.curation import Bars
from tests.data.test_curation import curate, row, verdict


@pytest.fixture(scope="module")
def made(tmp_path_factory):
  work = tmp_path_factory.mktemp("set")
  rows = [row("relu", 1), row("row_sum", 2), row("relu", 3), row("relu", 4)]
  verdicts = {3: verdict(speedup=1.5), 4: verdict("check", "wrong_answer")}
  curate(work, rows, verdicts, bars=Bars(lower=(1.5, 1.25)))
  return work


def test_the_head_names_a_file_for_each_tier(made):
  text = (made / "README.md").read_text()
  head = yaml.safe_load(re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)[1])
  configs = {c["config_name"]: c["data_files"] for c in head["configs"]}
  assert list(configs) == ["default", "tier_1.5", "tier_1.25"]
  counts = [
    pyarrow.parquet.read_table(made / files[0]["path"]).num_rows
    for files in configs.values()
  ]
  assert counts == [2, 1, 0]
  assert all(files[0]["split"] == "train" for files in configs.values())
  assert head["size_categories"] == ["n<1K"] and head["pretty_name"]


def test_the_card_tells_what_is_in_it_and_what_is_not(made):
  text = (made / "README.md").read_text()
  assert "| default | 2.0 | 2 | 2 | 3.00 |" in text
  assert "| right on all shapes and seeds | 3 |" in text
  assert "| wrong_answer | 1 |" in text and "cpu: test" in text
  for column in publication.SCHEMA.names:
    assert f"- `{column}`: " in text
  for plot in re.findall(r"\]\((plots/\w+\.png)\)", text):
    assert (made / plot).read_bytes()[1:4] == b"PNG"


def test_datasets_loads_it(made, tmp_path, monkeypatch):
  if importlib.util.find_spec("datasets") is None:
    pytest.skip("datasets is not installed")
  monkeypatch.setenv("HF_HUB_OFFLINE", "1")
  import datasets

  for name, count in (("default", 2), ("tier_1.5", 1)):
    loaded = datasets.load_dataset(str(made), name, cache_dir=str(tmp_path))
    assert loaded["train"].num_rows == count
    assert loaded["train"][0]["times_us"] == [2.0, 1.0, 3.0]
