"""Sources: what becomes a candidate, and why the rest does not."""

import json

import pyarrow
import pyarrow.parquet
import pytest

from jaxkern.data import sources
from jaxkern.data.sources import Candidate, Malformed

KERNEL = '__global__ void k() {}\nextern "C" int launch() { return 0; }\n'
MODULE = "import torch\n\nclass Model(torch.nn.Module):\n  pass\n"
TASKS = ("relu", "row_sum")


def jsonl(tmp_path, *lines):
  path = tmp_path / "rows.jsonl"
  path.write_bytes(
    b"".join(
      (x if isinstance(x, bytes) else json.dumps(x).encode()) + b"\n"
      for x in lines
    )
  )
  return list(sources.read(path, TASKS))


def test_columns_of_many_makers(tmp_path):
  rows = jsonl(
    tmp_path,
    {"task": "relu", "cuda": KERNEL},
    {"pytorch_code": MODULE, "cuda_code": KERNEL},
    {"op_name": "relu", "response": f"Here:\n```cuda\n{KERNEL}```\nDone."},
    {"prompt": f"Do:\n```python\n{MODULE}```", "completion": KERNEL},
    {"task": "relu", "kernel": "no kernel at all"},
  )
  assert [(r.task, bool(r.reference)) for r in rows] == [
    ("relu", False),
    ("", True),
    ("relu", False),
    ("", True),
    ("relu", False),
  ]
  assert [r.kernel for r in rows] == [KERNEL] * 4 + [""]
  assert rows[3].reference == MODULE
  assert rows[1].origin == {"source": "jsonl", "path": "rows.jsonl", "row": 2}
  assert rows[0].key == rows[2].key != rows[1].key


@pytest.mark.parametrize(
  ("line", "reason"),
  [
    (b'{"task": "relu"', "not JSON"),
    (b"\xff\xfe{}", "not JSON"),
    (["relu"], "expected an object, got list"),
    ({"task": "relu"}, "no kernel: expected kernel or cuda_code"),
    ({"task": "relu", "kernel": 3}, "no kernel"),
    ({"task": "relu", "kernel": "  "}, "no kernel"),
    ({"task": "gone", "kernel": KERNEL}, "no task is named 'gone'"),
    ({"kernel": KERNEL}, "no task: expected task"),
    ({"reference": "x = 1", "kernel": KERNEL}, "no class Model"),
    ({"task": "relu", "kernel": KERNEL + "\ud800"}, "no text: "),
    ({"task": "relu", "kernel": KERNEL * 9999}, "longer than"),
  ],
)
def test_a_malformed_row_says_why_and_harms_no_other(tmp_path, line, reason):
  good = {"task": "relu", "kernel": KERNEL}
  first, bad, last = jsonl(tmp_path, good, line, good)
  assert isinstance(first, Candidate) and isinstance(last, Candidate)
  assert isinstance(bad, Malformed) and bad.reason.startswith(reason)
  assert bad.origin["row"] == 2


def test_parquet_is_read_by_the_columns_it_has(tmp_path):
  path = tmp_path / "rows.parquet"
  table = {"task": ["relu", None], "cuda": [KERNEL, KERNEL], "score": [1, 2]}
  pyarrow.parquet.write_table(pyarrow.table(table), path)
  good, bad = sources.read(path, TASKS)
  assert good.kernel == KERNEL and good.origin["row"] == 1
  assert bad.reason.startswith("no task: expected")
  path.write_bytes(path.read_bytes()[:-40])
  (bad,) = sources.read(path, TASKS)
  assert bad.reason.startswith("not Parquet")


def test_a_folder_names_tasks_by_file_folder_or_first_line(tmp_path):
  for name, text in {
    "relu.cu": KERNEL,
    "row_sum_7.cu": KERNEL,
    "relu/mine.cu": KERNEL,
    "any.cu": "// task: row_sum\n" + KERNEL,
    "what.cu": KERNEL,
  }.items():
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
  (tmp_path / "relu_1.cu").write_bytes(b"\xff\xff")
  found = {r.origin["path"]: r for r in sources.read(tmp_path, TASKS)}
  assert {p: getattr(r, "task", r[1][:8]) for p, r in found.items()} == {
    "relu.cu": "relu",
    "row_sum_7.cu": "row_sum",
    "relu/mine.cu": "relu",
    "any.cu": "row_sum",
    "what.cu": "no task ",
    "relu_1.cu": "not text",
  }


def test_samples_of_evaluations_and_of_runs(tmp_path):
  (tmp_path / "results.jsonl").write_text(
    json.dumps({"task": "relu", "sample": 3, "source": KERNEL}) + "\n"
  )
  turns = [{"source": "x"}, {"source": KERNEL}, 4]
  (tmp_path / "after.jsonl").write_text(
    json.dumps({"task": "row_sum", "success_turn": 2, "turns": turns}) + "\n"
  )
  sample, first, second, bad = sources.read(tmp_path, TASKS)
  assert sample.origin["sample"] == 3
  assert (first.kernel, second.kernel) == ("", KERNEL)
  assert second.origin["turn"] == 2 and second.task == "row_sum"
  assert bad.reason.startswith("no kernel")


def test_what_is_no_source_is_refused(tmp_path):
  for path in (tmp_path, tmp_path / "gone.jsonl", "rows.csv"):
    with pytest.raises(ValueError, match="source: expected a .jsonl"):
      sources.read(path, TASKS)
