"""The suite: what it holds, how it is split, and answers that need no work."""

import hashlib

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


@pytest.mark.parametrize("name", ["softmax_f16", "segment_sum_f32", "hash_i32"])
def test_lint_of_a_good_task_finds_nothing(name):
  assert lint.lint_task(suite.get(name)) == lint.Findings()
