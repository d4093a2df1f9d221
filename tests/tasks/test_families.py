"""The suite: what it holds, how it is split, and answers that need no work."""

import hashlib

import numpy as np
import pytest

from jaxkern.tasks import lint, suite

NAMES = suite.names(set="suite")
# Of split.json. To move a family is to change what results mean.
CHECKSUM = "6f3b8a7c5b8815f66b84342e3159d365d36a318457d571c188dfe7fc31b26a7d"


def test_suite_is_large_and_has_three_levels():
  operations = {name.rpartition("_")[0] for name in NAMES}
  assert len(NAMES) >= 240 and len(operations) >= 120
  for level in (1, 2, 3):
    assert len(suite.names(level=level, set="suite")) >= 30
  assert not set(NAMES) & set(suite.names())


def test_primer_is_what_it_was():
  assert len(suite.names()) == 151
  assert len(suite.names("train")) == 135


def test_split_is_by_family_and_fixed():
  digest = hashlib.sha256(suite.SPLIT.read_bytes()).hexdigest()
  assert digest == CHECKSUM
  families = {suite.get(name).family for name in NAMES}
  assert set(suite.splits()) == families
  for split in suite.SPLITS:
    assert len(suite.names(split, set="suite")) >= 20


@pytest.mark.parametrize("name", NAMES)
def test_task_is_whole(name):
  task = suite.get(name)
  assert "launch(" in task.baseline and task.tags
  assert task.large and task.hidden and len(task.cases) == 3


@pytest.mark.parametrize(
  "name",
  [
    "sort_rows_f32",
    "argsort_rows_f32",
    "top_k_f32",
    "top_k_bf16",
    "top_k_gate_f32",
    "median_of_rows_f32",
    "top_p_mask_f32",
  ],
)
def test_no_two_of_a_row_are_equal_where_their_order_matters(name):
  task = suite.get(name)
  for size in (*task.cases, *task.hidden, {**task.large[0], "rows": 64}):
    size = {**size, **({"n": 64} if size.get("n", 0) > 64 else {})}
    x = task.make_inputs(np.random.default_rng(3), size)["x"]
    rows = np.sort(x.astype(np.float64))
    assert (np.diff(rows) > 0).all(), size


@pytest.mark.parametrize("name", ["argmax_f32", "argmax_bf16"])
def test_a_row_has_one_maximum(name):
  task = suite.get(name)
  for size in (*task.cases, {"rows": 256, "cols": 4096}):
    x = task.make_inputs(np.random.default_rng(3), size)["x"]
    x = x.astype(np.float64)
    assert ((x == x.max(1, keepdims=True)).sum(1) == 1).all()


def test_a_window_has_one_maximum():
  task = suite.get("max_pool2d_backward_f32")
  size = task.cases[-1]
  x = task.make_inputs(np.random.default_rng(3), size)["x"]
  windows = x.reshape(-1, size["oh"], 2, size["ow"], 2).swapaxes(2, 3)
  bits = windows.reshape(-1, 4).view(np.uint32) & 3
  assert (bits == [0, 1, 2, 3]).all()


@pytest.mark.parametrize("name", ["softmax_f16", "segment_sum_f32", "hash_i32"])
def test_lint_of_a_good_task_finds_nothing(name):
  assert lint.lint_task(suite.get(name)) == lint.Findings()
