"""Two hundred candidates; benchmarks/fault_storm.py runs a thousand."""

import pytest

from jaxkern.tasks.bundle import write_bundle

from . import storm
from .faults import DEVICE_FAULTS, FAULTS, ORDINARY

COUNT, SEED = 200, 1


@pytest.fixture(scope="module")
def record(task, tmp_path_factory):
  directory = tmp_path_factory.mktemp("storm")
  write_bundle(task, directory / "bundle", seed=0)
  with pytest.MonkeyPatch.context() as patch:
    patch.setenv("TMPDIR", str(directory))
    return storm.run(
      str(directory / "bundle"),
      storm.make(COUNT, SEED, "cpu"),
      directory,
      "cpu",
      distinct=False,
      run_workers=2,
    )


def test_a_third_is_faulty_and_every_fault_takes_part():
  kinds = [kind for kind, _ in storm.make(COUNT, SEED, "cpu")]
  assert len(kinds) == COUNT
  assert sum(kind not in ORDINARY for kind in kinds) == COUNT // 3
  assert set(FAULTS | DEVICE_FAULTS["cpu"] | ORDINARY) == set(kinds)


def test_every_result_is_right_and_none_is_lost(record):
  assert record["wrong"] == []
  assert record["lost"] == 0
  assert sum(record["results"].values()) == COUNT
  assert record["stats"]["infra_errors"] == 0
  assert record["stats"]["out_of_service"] == ""


def test_nothing_is_left_behind(record):
  assert record["processes_left"] == []
  assert record["files_left"] == 0
  assert record["after"] == record["before"]


def test_an_idle_evaluator_has_its_guard_and_its_spares_only(record):
  assert sorted(set(record["idle_children"])) == [
    "S jaxkern-guard",
    "S jaxkern-worker",
  ]
  assert len(record["idle_children"]) <= 1 + 2


def test_memory_is_flat(record):
  settled, *_, last = record["resident_kb"][5:]
  assert last - settled < 8 << 10
