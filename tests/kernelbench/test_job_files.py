"""What a candidate may leave behind, and what is read of it."""

import json
import os

import naive_pairs
import numpy as np
import pytest

from jaxkern.tasks import job_files, kernelbench
from jaxkern.tasks.job_files import Left

RELU = next(pair for pair in naive_pairs.PAIRS if pair.name == "relu")
ENTRY = {"file": "a.npy", "dtype": "float32", "shape": [3]}


def save(directory, x, name="a.npy"):
  np.save(directory / name, np.asarray(x))


def test_array_that_is_what_it_is_said_to_be_is_read(tmp_path):
  save(tmp_path, np.float32([1, 2, 3]))
  assert job_files.load(tmp_path, ENTRY).tolist() == [1, 2, 3]
  save(tmp_path, np.uint16([[0x3F80]]))
  entry = {"file": "a.npy", "dtype": "bfloat16", "shape": [1, 1]}
  assert job_files.load(tmp_path, entry).tolist() == [[0x3F80]]
  save(tmp_path, np.zeros((0, 2), bool))
  entry = {"file": "a.npy", "dtype": "bool", "shape": [0, 2]}
  assert job_files.load(tmp_path, entry).shape == (0, 2)


@pytest.mark.parametrize("kind", ["link", "path", "parent", "pipe", "folder"])
def test_name_must_be_that_of_a_regular_file_there(tmp_path, kind):
  job = tmp_path / "job"
  job.mkdir()
  save(tmp_path, np.float32([1, 2, 3]), "secret.npy")
  name = "a.npy"
  if kind == "link":
    (job / name).symlink_to(tmp_path / "secret.npy")
  elif kind == "pipe":
    os.mkfifo(job / name)
  elif kind == "folder":
    (job / name).mkdir()
  else:
    name = str(tmp_path / "secret.npy") if kind == "path" else "../secret.npy"
  with pytest.raises(Left):
    job_files.load(job, {**ENTRY, "file": name})


@pytest.mark.parametrize(
  "entry",
  [
    None,
    {},
    {**ENTRY, "file": 3},
    {**ENTRY, "file": "a\0.npy"},
    {**ENTRY, "file": "\ud800"},
    {**ENTRY, "dtype": "object"},
    {**ENTRY, "dtype": ["float32"]},
    {**ENTRY, "dtype": "int32"},
    {**ENTRY, "shape": [-3]},
    {**ENTRY, "shape": [True]},
    {**ENTRY, "shape": [4]},
    {**ENTRY, "shape": [1 << 30, 1 << 30]},
  ],
)
def test_entry_must_fit_its_array(tmp_path, entry):
  save(tmp_path, np.float32([1, 2, 3]))
  with pytest.raises(Left):
    job_files.load(tmp_path, entry)


def test_array_must_be_all_there(tmp_path):
  path = tmp_path / "a.npy"
  save(tmp_path, np.float32([1, 2, 3]))
  whole = path.read_bytes()
  for data in (whole[:-1], whole + b"0", whole[:20], b"", b"PK\3\4"):
    path.write_bytes(data)
    with pytest.raises(Left):
      job_files.load(tmp_path, ENTRY)
  np.save(path, np.array([None] * 3), allow_pickle=True)
  with pytest.raises(Left):
    job_files.load(tmp_path, ENTRY)
  os.truncate(path, 1 << 40)  # Not read to see that it is too large.
  with pytest.raises(Left, match="at most"):
    job_files.load(tmp_path, ENTRY)


def test_arrays_together_have_a_limit():
  large = {**ENTRY, "shape": [1 << 30]}
  job_files.check_total([large, large])
  with pytest.raises(Left, match="8 GiB"):
    job_files.check_total([large] * 3)


@pytest.mark.parametrize(
  "text",
  [
    b"",
    b"[]",
    b"{}",
    b"\xff",
    b"{",
    b"[" * 100_000,
    b'{"status": 1}',
    b'{"status": "runtime_error"}',
    b'{"status": "runtime_error", "log": 1}',
    b'{"status": "crash", "log": ""}',
    b" " * (job_files.MOST_RESULT + 1),
  ],
)
def test_result_must_have_a_status_and_a_log(tmp_path, text):
  (tmp_path / "result.json").write_bytes(text)
  with pytest.raises(Left):
    job_files.result(tmp_path)


def test_log_is_cut(tmp_path):
  text = json.dumps({"status": "runtime_error", "log": "x" * 100_000})
  (tmp_path / "result.json").write_text(text)
  assert len(job_files.result(tmp_path)["log"]) == 8000
  (tmp_path / "job.log").write_bytes(b"\xff" * 50 + b"end")
  assert job_files.tail(tmp_path, "job.log", 3) == "end"
  assert job_files.tail(tmp_path, "job.log", 60).endswith("\ufffdend")
  assert job_files.tail(tmp_path, "absent", 3) == ""


FORGED = """
import json, os
ANSWER = {answer!r}
for name, target in {links!r}.items():
  os.symlink(target, name)
open("result.json", "w").write(json.dumps(ANSWER))
os._exit(0)
"""
TEXT = """#include <torch/extension.h>
__global__ void copy(const float* w, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = w[i];
}
torch::Tensor forward(torch::Tensor x0, torch::Tensor w0) {
  auto y = torch::empty_like(w0);
  copy<<<(w0.numel() + 255) / 256, 256>>>(w0.data_ptr<float>(),
      y.data_ptr<float>(), w0.numel());
  return y;
}
"""


def forged(links=None, **changes):
  answer = {"status": "ok", "text": TEXT, "inputs": [0], "weights": {}}
  answer |= {"cuda": [], **changes}
  return FORGED.format(answer=answer, links=links or {})


def test_expected_outputs_cannot_be_asked_for_as_a_weight(judge, worker):
  prepared = judge.prepare(RELU.reference)
  entry = prepared.facts["reference"]["variants"][0]["outputs"][0]
  target = str(prepared.directory / entry["file"])
  for file, links in (("w0.npy", {"w0.npy": target}), (target, {})):
    text = forged(links, weights={"w0": {**entry, "file": file}})
    verdict = judge.judge(RELU.reference, text)
    assert verdict["status"] == "crash", verdict
    assert "the trace's result: " in verdict["log"]


@pytest.mark.parametrize(
  "changes",
  [
    {"text": None},
    {"inputs": [1]},
    {"inputs": [-1]},
    {"inputs": 0},
    {"weights": []},
    {"weights": {"../w0": ENTRY}},
    {"weights": {"w0": 3}},
    {"cuda": [1]},
    {"status": None},
    {"status": "timeout"},
  ],
)
def test_forged_trace_is_a_crash(judge, changes):
  verdict = judge.judge(RELU.reference, "import os\n" + forged(**changes))
  assert verdict["status"] == "crash", verdict


def test_weights_are_written_anew(judge, worker, tmp_path):
  linear = next(p for p in naive_pairs.PAIRS if p.name == "divide_gelu")
  prepared = judge.prepare(linear.reference)
  traced = kernelbench.trace(worker, prepared, linear.candidate, tmp_path)
  assert traced.weights and traced.directory == tmp_path
  for name, entry in traced.weights.items():
    assert entry["file"] == f"c{name}.npy"
    assert list(np.load(tmp_path / entry["file"]).shape) == entry["shape"]
