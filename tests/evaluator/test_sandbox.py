"""What the evaluator says of its protections, and the budget it keeps."""

import pytest

from jaxkern.evaluator import Evaluator, Request
from jaxkern.tasks.bundle import write_bundle

from .conftest import KERNEL
from .faults import FAULTS
from .test_cli import jaxkern_eval

MINIMUM = r"memory_bytes: expected 0, or at least \d+ and at most this machine"


def test_protections_are_named(evaluator):
  described = evaluator.describe()
  assert "; sandbox: " in described
  assert "; compilers: " in described
  assert described.count("\n") == 0


EXPECTED_STATS = {
  "results": 2,
  "infra_errors": 0,
  "retries": 0,
  "out_of_service": "",
}


def test_counts_tell_results_from_our_own_failures(cache_dir, task):
  with Evaluator(cache_dir=cache_dir) as evaluator:
    requests = [
      Request(task, KERNEL),
      Request(task, FAULTS["exit"].source, fresh_process=True),
    ]
    statuses = [result.status for result in evaluator.evaluate(requests)]
    stats = evaluator.stats()
  assert statuses == ["ok", "runtime_error"]
  assert stats.pop("workers_started") >= 2
  assert {name: stats[name] for name in EXPECTED_STATS} == EXPECTED_STATS


@pytest.mark.parametrize("memory_bytes", [-1, 1 << 20, 1 << 60])
def test_impossible_budget_is_a_value_error(cache_dir, memory_bytes):
  with pytest.raises(ValueError, match=MINIMUM):
    Evaluator(cache_dir=cache_dir, memory_bytes=memory_bytes)


def test_what_is_left_out_is_said_and_the_rest_works(
  cache_dir, task, monkeypatch
):
  monkeypatch.setenv("JAXKERN_WITHOUT", "landlock,seccomp")
  with Evaluator(cache_dir=cache_dir) as evaluator:
    described = evaluator.describe()
    results = evaluator.evaluate(
      [Request(task, KERNEL), Request(task, FAULTS["host_null_pointer"].source)]
    )
  assert "files not restricted (no Landlock)" in described
  assert "system calls not restricted (seccomp: JAXKERN_WITHOUT)" in described
  assert described.endswith("; compilers: none")
  assert [result.status for result in results] == ["ok", "runtime_error"]


def test_command_line_takes_budget_and_fresh_process(task, cache_dir, tmp_path):
  write_bundle(task, tmp_path / "bundle")
  flags = [f"--bundle={tmp_path / 'bundle'}", f"--cache_dir={cache_dir}", "-"]
  done = jaxkern_eval("--fresh_process=true", *flags, stdin=KERNEL)
  assert '"status":"ok"' in done.stdout
  assert "; sandbox: " in done.stderr
  done = jaxkern_eval("--memory_bytes=5", *flags, stdin=KERNEL)
  assert done.returncode == 2
  assert "memory_bytes: expected 0, or at least " in done.stderr
