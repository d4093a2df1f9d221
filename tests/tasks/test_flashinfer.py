"""Definitions of flashinfer-bench, in a data set of our own."""

import copy
import importlib.util
import json

import numpy as np
import pytest
import safetensors.numpy

from jaxkern.evaluator import Evaluator, Request
from jaxkern.tasks import flashinfer, lint, suite
from jaxkern.tasks.task import signature

needs_torch = pytest.mark.skipif(
  importlib.util.find_spec("torch") is None, reason="extra [torch]"
)

GATHER = {
  "name": "scaled_gather_d8",
  "op_type": "gather",
  "description": "Rows of a table, scaled.",
  "tags": ["status:verified"],
  "axes": {
    "rows": {"type": "var"},
    "n": {"type": "var"},
    "d": {"type": "const", "value": 8},
  },
  "inputs": {
    "table": {"shape": ["rows", "d"], "dtype": "float32"},
    "index": {"shape": ["n"], "dtype": "int32"},
    "scale": {"shape": None, "dtype": "float32"},
  },
  "outputs": {"out": {"shape": ["n", "d"], "dtype": "float32"}},
  "reference": "import torch\n\n@torch.no_grad()\n"
  "def run(table, index, scale):\n"
  "  return table.to(torch.float32)[index.to(torch.long)] * scale\n",
}
KERNEL = (
  "__global__ void kernel(const float* t, const int* at, float* y, int64_t n,"
  " float s) {\n"
  "  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;\n"
  "  if (i < n * 8) y[i] = t[at[i / 8] * 8 + i % 8] * s;\n}\n"
  'extern "C" int launch(const float* table, const int* index, float* out,'
  " int64_t rows, int64_t n, float scale, cudaStream_t stream) {\n"
  "  kernel<<<(n * 8 + 63) / 64, 64, 0, stream>>>(table, index, out, n, scale);"
  "\n  return cudaGetLastError();\n}\n"
)


def changed(**keys):
  return {**copy.deepcopy(GATHER), **keys}


def write(root, definition, workloads=()):
  """A data set; of a workload (axes, scale, index)."""
  name, kind = definition["name"], definition["op_type"]
  for folder in ("definitions", "workloads"):
    (root / folder / kind).mkdir(parents=True, exist_ok=True)
  path = root / "definitions" / kind / f"{name}.json"
  path.write_text(json.dumps(definition))
  lines = []
  for k, (axes, scale, index) in enumerate(workloads):
    arrays = {"at": np.array(index, np.int32)}
    safetensors.numpy.save_file(arrays, root / f"{k}.safetensors")
    inputs = {
      "table": {"type": "random"},
      "index": {
        "type": "safetensors",
        "path": f"./{k}.safetensors",
        "tensor_key": "at",
      },
      "scale": {"type": "scalar", "value": scale},
    }
    workload = {"uuid": str(k), "axes": axes, "inputs": inputs}
    lines.append(json.dumps({"definition": name, "workload": workload}))
  if lines:
    text = "\n".join(lines) + "\n"
    (root / "workloads" / kind / f"{name}.jsonl").write_text(text)
  return path


WORKLOADS = [
  ({"rows": 40, "n": 30}, 0.5, [*range(30)]),
  ({"rows": 40, "n": 30}, 0.5, [*range(39, 9, -1)]),
  ({"rows": 4, "n": 3}, 2.0, [3, 0, 3]),
  ({"rows": 4, "n": 3}, 2.0, [1, 1, 2]),
  ({"rows": 9, "n": 5}, -1.5, [8, 0, 4, 4, 1]),
]


def test_definition_is_a_task_at_the_sizes_of_its_workloads(tmp_path):
  task = suite.get(str(write(tmp_path, GATHER, WORKLOADS)))
  assert signature(task) == (
    'extern "C" int launch(const float* table, const int* index, float* out,'
    " int64_t rows, int64_t n, float scale, cudaStream_t stream)"
  )
  assert [a.shape for a in task.arguments[:3]] == [
    ("rows", 8),
    ("n",),
    ("n", 8),
  ]
  assert task.cases == (
    {"rows": 4, "n": 3, "scale": 2.0},
    {"rows": 9, "n": 5, "scale": -1.5},
    {"rows": 40, "n": 30, "scale": 0.5},
  )
  assert task.timed == (2,) and task.large == task.cases[2:]
  assert (task.level, task.family, task.split) == (3, "gather", "test")
  assert task.tags == ("status:verified",)
  assert task.summary.startswith("Rows of a table, scaled.\nimport torch")


def test_workloads_of_equal_sizes_take_turns(tmp_path):
  task = flashinfer.load(write(tmp_path, GATHER, WORKLOADS))
  drawn = {
    tuple(task.make_inputs(np.random.default_rng(k), task.cases[0])["index"])
    for k in range(20)
  }
  assert drawn == {(3, 0, 3), (1, 1, 2)}


@needs_torch
def test_kernels_are_judged_by_the_reference(tmp_path):
  write(tmp_path, GATHER, WORKLOADS)
  task = suite.get(f"{tmp_path}:scaled_gather_d8")
  sources = [
    KERNEL,
    KERNEL.replace("* s;", "* 2;"),
    KERNEL.replace("<<<", "<<<0 *"),
  ]
  with Evaluator("cpu", cache_dir=tmp_path / "cache") as evaluator:
    results = evaluator.evaluate([Request(task, s) for s in sources])
  assert [r.status for r in results[:2]] == ["ok", "wrong_answer"]
  assert results[2].status != "ok"
  # Of this seed the two draws are two workloads.
  assert lint.lint_task(task, seed=1) == lint.Findings()


@needs_torch
def test_reference_is_computed_in_float64_whatever_it_asks_for(tmp_path):
  text = (
    "import torch\n"
    "def run(x):\n"
    "  z = x.to(torch.float32).float() + torch.full_like(x, 1e-9)\n"
    "  made = torch.zeros(x.shape, dtype=torch.bfloat16)\n"
    "  made[:] = z\n"
    "  return {'low': torch.where(z > 9, z, -torch.inf), 'y': made.to(x.dtype)}"
  )
  spec = {"shape": ["n"], "dtype": "bfloat16"}
  made = changed(
    axes={"n": {"type": "var"}},
    inputs={"x": spec},
    outputs={"y": spec, "low": spec},
    reference=text,
  )
  task = flashinfer.load(write(tmp_path, made))
  assert [case["n"] for case in task.cases] == [2, 5, 16]
  size = task.cases[-1]
  inputs = task.make_inputs(np.random.default_rng(0), size)
  exact = task.exact(inputs, size)
  x = inputs["x"].astype(np.float64)
  np.testing.assert_allclose(exact["y"] - x, 1e-9, rtol=1e-6)
  assert (exact["low"] == -np.inf).all()
  # As it is written it loses them.
  plain = task.exact(inputs, size, "float32")["y"]
  assert np.array_equal(plain.astype(np.float64), x)
  rtol, atol = task.tolerance(size)
  assert rtol == 2 * 2**-7 and 0 < atol < 0.05
  assert task.reference(inputs, size)["y"].dtype.name == "bfloat16"


@needs_torch
@pytest.mark.parametrize(
  ("reference", "message"),
  [
    ("def run(table, index, scale):\n  return 1 / 0", "ZeroDivisionError"),
    ("import nothing_like_it\ndef run(*a):\n  pass", "needs nothing_like_it"),
    ("def run(table, *a):\n  return table", r"of \[3, 8\], got \[4, 8\]"),
  ],
)
def test_references_that_fail_are_named(tmp_path, reference, message):
  made = changed(reference=reference)
  task = flashinfer.load(write(tmp_path, made, WORKLOADS))
  inputs = task.make_inputs(np.random.default_rng(0), task.cases[0])
  with pytest.raises(ValueError, match=f"scaled_gather_d8: .*{message}"):
    task.reference(inputs, task.cases[0])


def test_data_set_says_what_is_no_task(tmp_path):
  write(tmp_path, GATHER, WORKLOADS)
  write(tmp_path, changed(name="without"))
  write(tmp_path, changed(name="drawn", op_type="sampling"), WORKLOADS)
  tasks, refused = flashinfer.all_of(tmp_path)
  assert [task.name for task in tasks] == ["scaled_gather_d8"]
  assert set(refused) == {"without", "drawn"}
  assert "index: expected a workload" in refused["without"]
  assert "outputs follow from its inputs" in refused["drawn"]
  with pytest.raises(ValueError, match="this has scaled_gather_d8"):
    suite.get(f"{tmp_path}:gather")
  with pytest.raises(ValueError, match="without.json: index: expected a work"):
    suite.get(f"{tmp_path}:without")


def test_definitions_may_lie_in_a_folder_of_their_own(tmp_path):
  path = write(tmp_path / "set", GATHER, WORKLOADS[:1])
  text = path.read_text()
  (tmp_path / "scaled_gather_d8.json").write_text(text)
  lines = tmp_path / "set/workloads/gather/scaled_gather_d8.jsonl"
  (tmp_path / "scaled_gather_d8.jsonl").write_text(lines.read_text())
  (tmp_path / "settings.json").write_text("[1]")
  (task,) = suite.select(str(tmp_path))
  assert task.name == "scaled_gather_d8" and task.cases[0]["n"] == 30


FLOAT8 = {"shape": ["rows"], "dtype": "float8_e4m3fn"}


@pytest.mark.parametrize(
  ("keys", "message"),
  [
    ({"name": ""}, "name: expected a str, got ''"),
    ({"axes": []}, r"axes: expected a dict, got \[\]"),
    ({"axes": {"n": {"type": "const"}}}, "axis n: expected type 'var', or"),
    ({"reference": "def go(): pass"}, "expected a function 'run', got none"),
    ({"reference": "def run(:"}, "reference: expected Python"),
    (
      {"outputs": {"y": FLOAT8}},
      "y: expected a dtype of .*got 'float8_e4m3fn'",
    ),
    (
      {"outputs": {"y": {**FLOAT8, "dtype": "bool", "shape": ["q"]}}},
      "y: .*'q'",
    ),
    ({"outputs": {"y": {"shape": None, "dtype": "bool"}}}, "y: expected axes"),
    ({"outputs": {"rows": GATHER["outputs"]["out"]}}, "distinct names.*'rows'"),
  ],
)
def test_mistakes_in_a_definition_are_named(tmp_path, keys, message):
  path = tmp_path / "one.json"
  path.write_text(json.dumps(changed(**keys)))
  with pytest.raises(ValueError, match=f"task: one.json: .*{message}"):
    suite.get(str(path))


@pytest.mark.parametrize(
  ("line", "message"),
  [
    ("{}", "1: expected 'workload', got none"),
    ('{"workload": {"axes": {}, "inputs": {}}}', "1: expected 'rows'"),
    ("{", "1: Expecting property name"),
    ('{"workload": {"axes": {"rows": 0, "n": 1}}}', "1: rows: expected a size"),
  ],
)
def test_mistakes_in_a_workload_are_named(tmp_path, line, message):
  (tmp_path / "one.json").write_text(json.dumps(changed(name="one")))
  (tmp_path / "one.jsonl").write_text(line)
  with pytest.raises(ValueError, match=f"one.jsonl:{message}"):
    suite.get(str(tmp_path / "one.json"))


def test_arrays_must_be_what_the_definition_says(tmp_path):
  workloads = [({"rows": 4, "n": 3}, 2.0, [3, 0])]
  task = flashinfer.load(write(tmp_path, GATHER, workloads))
  rng = np.random.default_rng(0)
  with pytest.raises(ValueError, match=r"int32\[3\], got int32\[2\]"):
    task.make_inputs(rng, task.cases[0])
  (tmp_path / "0.safetensors").unlink()
  with pytest.raises(ValueError, match="expected a file, got"):
    task.make_inputs(rng, task.cases[0])
