"""Two hundred candidates; benchmarks/fault_storm.py runs a thousand.

Without the rules about texts and imports, so that all candidates run.
"""

import collections

import pytest

from jaxkern.evaluator import Request
from jaxkern.tasks.bundle import write_bundle

from . import storm
from .faults import FAULTS, ORDINARY

COUNT, SEED = 200, 1


@pytest.fixture(scope="module")
def candidates(evaluator):
  return storm.make(COUNT, SEED, "cpu", evaluator.describe())


@pytest.fixture(scope="module")
def record(task, candidates, tmp_path_factory):
  directory = tmp_path_factory.mktemp("storm")
  write_bundle(task, directory / "bundle", seed=0)
  with pytest.MonkeyPatch.context() as patch:
    patch.setenv("TMPDIR", str(directory))
    return storm.run(
      str(directory / "bundle"),
      candidates,
      directory,
      "cpu",
      distinct=False,
      run_workers=2,
    )


def test_a_third_is_faulty_and_every_fault_takes_part(evaluator, candidates):
  kinds = [kind for kind, _ in candidates]
  assert len(kinds) == COUNT
  assert sum(kind not in ORDINARY for kind in kinds) == COUNT // 3
  faults = storm.faults("cpu", evaluator.describe())
  assert set(faults | ORDINARY) == set(kinds)


def test_without_protections_their_faults_stay_away():
  assert len(storm.faults("cpu", "")) > 20
  assert "patricide" not in storm.faults("cpu", "")
  assert "write_elsewhere" not in storm.faults("cpu", "system calls (seccomp)")


def test_with_rules_some_never_run(evaluator, task):
  ruled = {kind: c for kind, c in FAULTS.items() if c.rule}
  requests = [Request(task, c.source) for c in ruled.values()]
  results = evaluator.evaluate(requests)
  assert {r.status for r in results} == {"cheating"}
  assert [r.rule for r in results] == [c.rule for c in ruled.values()]


def test_every_result_is_right_and_none_is_lost(record):
  assert record["wrong"] == []
  assert record["lost"] == 0
  assert sum(record["results"].values()) == COUNT
  assert record["stats"]["infra_errors"] == 0
  assert record["stats"]["out_of_service"] == ""


def test_nothing_is_left_behind(record):
  assert record["processes_left"] == []
  assert record["files_left"] == []
  assert record["after"] == record["before"]


def test_an_idle_evaluator_has_its_guard_and_its_spares_only(record):
  others = collections.Counter(record["before"]["children"])
  own = collections.Counter(record["idle_children"]) - others
  assert own == {"S jaxkern-guard": 1, "S jaxkern-worker": 2}


def test_memory_is_flat(record):
  settled, *_, last = record["resident_kb"][5:]
  assert last - settled < 8 << 10
