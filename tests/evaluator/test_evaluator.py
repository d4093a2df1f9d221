import os
import pickle
import signal
import subprocess
import sys
import time

import pytest

from jaxkern.evaluator import Evaluator, Request, Result
from jaxkern.tasks.bundle import write_bundle

from .conftest import KERNEL, kernel, make_task


def judge(evaluator, task, source, **options):
  return evaluator.evaluate([Request(task, source, **options)])[0]


def test_right_kernel_is_ok(evaluator, task):
  result = judge(evaluator, task, KERNEL)
  assert (result.status, result.stage, result.log) == ("ok", "check", "")
  assert result.mismatches == 0
  assert result.times_us == []
  assert result.device.startswith("cpu: ")
  assert result.resources.registers == -1


def test_second_build_of_a_kernel_is_a_cache_hit(evaluator, task):
  source = KERNEL + "int not_seen_before;\n"
  assert not judge(evaluator, task, source).cache_hit
  assert judge(evaluator, task, source).cache_hit
  other = "// another layout\n" + source.replace("\n  ", " ")
  assert judge(evaluator, task, other).cache_hit
  telling = source + "int line() { return __LINE__; }\n"
  assert not judge(evaluator, task, telling).cache_hit
  assert not judge(evaluator, task, "\n" + telling).cache_hit


def test_a_refusal_is_a_hit_for_the_same_lines_only(evaluator, task):
  wrong = kernel("y[i] = undeclared_in_this_test;")
  first = judge(evaluator, task, wrong)
  assert first.status == "compile_error" and not first.cache_hit
  assert judge(evaluator, task, wrong).cache_hit
  moved = judge(evaluator, task, "\n\n" + wrong)
  assert not moved.cache_hit
  assert "kernel.cu:4:" in first.log and "kernel.cu:6:" in moved.log


def test_misses_are_explained(cache_dir, task):
  source = KERNEL + "int explained;\n"
  with Evaluator(cache_dir=cache_dir, explain_misses=True) as evaluator:
    judge(evaluator, task, source)
    assert judge(evaluator, task, source).cache_miss == ""
    changed = source.replace("if (i < n)", "if (n > i)")
    assert judge(evaluator, task, changed).cache_miss.startswith(
      "source: line 4 is `if (n > i) y[i] = a * x[i];`, in the nearest"
    )
  with Evaluator(
    cache_dir=cache_dir, explain_misses=True, compiler="c++"
  ) as evaluator:
    miss = judge(evaluator, task, source).cache_miss
    assert miss in ("", "stored for another compiler")


def test_requests_are_judged_as_an_iterator_gives_them(evaluator, task):
  events = []

  def requests():
    for i in range(3):
      yield Request(task, KERNEL + f"int early_{i};\n")
      before = evaluator.stats()["results"]
      deadline = time.monotonic() + 30
      while evaluator.stats()["results"] == before:
        assert time.monotonic() < deadline
        time.sleep(0.01)
      events.append(i)  # The first are done while this one makes the next.
    yield Request(task, KERNEL + "int early_0;\n")

  results = evaluator.evaluate(requests())
  assert [r.status for r in results] == ["ok"] * 4
  assert events == [0, 1, 2]
  with pytest.raises(RuntimeError, match="no more"):
    evaluator.evaluate(_failing(task))
  with pytest.raises(ValueError, match="repetitions"):
    evaluator.evaluate(iter([Request(task, KERNEL, repetitions=-1)]))


def _failing(task):
  yield Request(task, KERNEL)
  raise RuntimeError("no more")


def test_timed_cases_are_timed_against_the_baseline(evaluator, task):
  result = judge(evaluator, task, KERNEL, repetitions=7)
  assert result.status == "ok"
  assert len(result.times_us) == 7
  assert all(t > 0 for t in result.times_us)
  assert result.baseline_us > 0
  assert result.speedup == pytest.approx(
    result.baseline_us / sorted(result.times_us)[3]
  )
  assert 0 < result.speedup_low <= result.speedup <= result.speedup_high
  assert result.launches_compared == 3 + 7


# Statuses of kernels that do one thing wrong, and what their logs say.
FAULTS = {
  "wrong_answer": (
    kernel("if (i < n) y[i] = a * x[i] + (i == 3);"),
    "check",
    "y[3] = 2.5, expected 1.5",
  ),
  "never_written": (
    kernel("if (i < 4) y[i] = a * x[i];"),
    "check",
    "y[4] = never written, expected 1.5",
  ),
  "modified_input": (
    kernel("if (i < n) y[i] = a * x[i]; ((float*)x)[0] = 7;"),
    "check",
    "modified its input x",
  ),
  "nonfinite": (
    kernel("if (i < n) y[i] = a * x[i] / 0.0f;"),
    "check",
    "NaN or Inf",
  ),
  "extract_error": ("  \n", "extract", 'extern "C" int launch(const float* x'),
  "compile_error": (
    kernel("y[i] = undeclared;"),
    "compile",
    "kernel.cu:4:10: error: 'undeclared' was not declared",
  ),
  "other_signature": (
    KERNEL.replace("float a,\n", "double a,\n"),
    "compile",
    "signature:",
  ),
  "link_error": (
    KERNEL.replace("int launch(", "int lunch("),
    "link",
    "nothing in the text is named `launch`",
  ),
  "launch_error": (
    KERNEL.replace("64, 0, stream", "2048, 0, stream"),
    "run",
    "cudaErrorInvalidValue",
  ),
  "segfault": (
    KERNEL.replace("  scale<<<", "  *(volatile int*)8 = 1; scale<<<"),
    "run",
    "egmentation fault",
  ),
  "exit": (
    "#include <cstdlib>\n"
    + KERNEL.replace("  scale<<<", "  exit(0); scale<<<"),
    "run",
    "exited with code 0 instead of returning from launch",
  ),
  "divergent_barrier": (
    kernel("if (i < 3) __syncthreads(); if (i < 9) __syncwarp(); y[0] = 1;"),
    "run",
    "barrier",
  ),
  "out_of_memory": (
    KERNEL.replace(
      "  scale<<<",
      "  void* p; int e = cudaMalloc(&p, 1ll << 40); if (e) return e;\n"
      "  scale<<<",
    ),
    "run",
    "cudaErrorMemoryAllocation",
  ),
  "unsupported": (
    kernel('asm volatile("mov.u32 %0, %%laneid;" : "=r"(n));'),
    "compile",
    "PTX",
  ),
  "timeout": (kernel("while (true) ((volatile float*)y)[i] = 1;"), "run", "3"),
}
STATUSES = {
  "never_written": "wrong_answer",
  "modified_input": "wrong_answer",
  "other_signature": "compile_error",
  "segfault": "runtime_error",
  "exit": "runtime_error",
  "divergent_barrier": "runtime_error",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_has_its_status_and_a_log_without_paths(evaluator, task, fault):
  source, stage, log = FAULTS[fault]
  timeout = 0.5 if fault == "timeout" else 20.0
  result = judge(evaluator, task, source, run_timeout_s=timeout)
  assert (result.status, result.stage) == (STATUSES.get(fault, fault), stage), (
    result.log
  )
  assert log in result.log
  assert "/tmp" not in result.log and "/home" not in result.log
  assert len(result.log) <= 2000


def test_results_keep_the_order_and_faults_do_not_spread(evaluator, task):
  sources = [KERNEL, FAULTS["segfault"][0], KERNEL, "launch", KERNEL]
  results = evaluator.evaluate([Request(task, s) for s in sources])
  assert [r.status for r in results] == [
    "ok",
    "runtime_error",
    "ok",
    "compile_error",
    "ok",
  ]


def test_submissions_come_back_as_they_finish(evaluator, task):
  slow = evaluator.submit(Request(task, FAULTS["timeout"][0], 0, 60.0, 0.7))
  quick = evaluator.submit(Request(task, "launch"))
  assert evaluator.next()[0] == quick
  assert evaluator.next(timeout_s=0.01) is None
  ticket, result = evaluator.next(timeout_s=30)
  assert (ticket, result.status) == (slow, "timeout")
  assert evaluator.next() is None


def test_result_survives_pickle_and_becomes_a_dict(evaluator, task):
  result = judge(evaluator, task, FAULTS["wrong_answer"][0])
  fields = result.to_dict()
  assert fields["status"] == "wrong_answer"
  assert fields["mismatches"] == 2  # one in each case
  assert pickle.loads(pickle.dumps(result)).to_dict() == fields
  assert Result.from_json(result.to_json()).to_dict() == fields
  with pytest.raises(ValueError, match="status: expected a value"):
    Result.from_json("{}")


def test_result_prints_for_people(evaluator, task):
  wrong = judge(evaluator, task, FAULTS["wrong_answer"][0])
  assert repr(wrong).startswith("<Result wrong_answer in check: wrong in 2")
  assert len(repr(wrong)) <= 110 and "\n" not in repr(wrong)
  assert str(wrong).startswith("wrong_answer (check) on cpu: ")
  assert "2 elements differ, max abs error 1," in str(wrong)
  assert wrong.log.splitlines()[-1] in str(wrong)
  timed = judge(evaluator, task, KERNEL, repetitions=3)
  assert repr(timed).startswith("<Result ok: ")
  assert "times as fast as the baseline" in repr(timed)


def test_bundle_directory_is_as_good_as_its_task(evaluator, task, tmp_path):
  write_bundle(task, tmp_path / "bundle", seed=0)
  assert judge(evaluator, tmp_path / "bundle", KERNEL).status == "ok"


def test_equal_contents_share_a_bundle_and_others_do_not(tmp_path):
  with Evaluator(cache_dir=tmp_path) as evaluator:
    for value in (2.5, 2.5, 3.5):
      assert judge(evaluator, make_task(value), "nonsense").status
  written = [p for p in (tmp_path / "bundles").iterdir() if p.name != ".secret"]
  contents = {(p / "case0.x.npy").read_bytes() for p in written}
  assert len(contents) == len(written) == 2
  assert not any(p.name.startswith(".") for p in written)


def test_inputs_come_from_the_cache_directorys_secret(tmp_path):
  task = make_task(2.5)
  bundles = {}
  for name, seed in (("a", None), ("a", None), ("b", None), ("c", 7)):
    with Evaluator(cache_dir=tmp_path / name, seed=seed) as evaluator:
      result = judge(evaluator, task, "nonsense")
    place = result.replay["problem"]
    bundles.setdefault(name, set()).add(place.rpartition("/")[2])
  assert {len(names) for names in bundles.values()} == {1}
  assert len(set().union(*bundles.values())) == 3
  secret = tmp_path / "a" / "bundles" / ".secret"
  assert secret.stat().st_mode & 0o777 == 0o600
  assert not (tmp_path / "c" / "bundles" / ".secret").exists()


def test_with_a_seed_verdicts_repeat_to_the_letter(task, tmp_path):
  source = FAULTS["wrong_answer"][0]
  verdicts = {}
  for name, seed in (("a", 7), ("b", 7), ("c", 8), ("d", None), ("e", None)):
    with Evaluator(cache_dir=tmp_path / name, seed=seed) as evaluator:
      early = evaluator.evaluate(iter([Request(task, source)]))[0]
      result, other = evaluator.evaluate(
        [Request(task, source), Request(task, source + "\n// another")]
      )
    assert (result.replay["seed"] == early.replay["seed"]) == (seed is not None)
    assert result.replay["seed"] != other.replay["seed"]
    verdicts[name] = (result.replay["seed"], result.log)
  assert verdicts["a"] == verdicts["b"]
  assert len({seed for seed, _ in verdicts.values()}) == 4


def test_verdict_carries_what_replays_it(evaluator, task):
  source = FAULTS["wrong_answer"][0]
  first = judge(evaluator, task, source)
  replay = first.replay
  assert replay["source"] == source
  assert replay["device"] == "cpu"
  again = evaluator.evaluate(
    [Request(replay["problem"], source, seed=int(replay["seed"]))]
  )[0]
  assert again.log == first.log
  assert again.replay == replay


@pytest.mark.parametrize(
  "options, message",
  [
    ({"device": "tpu"}, 'device: expected "cpu" or "cuda", got "tpu"'),
    ({"compiler": "/no/such/compiler"}, "compiler"),
    ({"run_workers": 0}, "run_workers: expected at least 1, got 0"),
    ({"cache_dir": "/proc/none"}, "cache_dir: expected a writable directory"),
  ],
)
def test_misuse_is_a_value_error(cache_dir, options, message):
  with pytest.raises(ValueError, match=message):
    Evaluator(**({"cache_dir": cache_dir} | options))


def test_malformed_request_is_a_value_error(evaluator, task, tmp_path):
  with pytest.raises(ValueError, match="repetitions: expected 0 to 1000"):
    judge(evaluator, task, KERNEL, repetitions=5000)
  with pytest.raises(ValueError, match="problem.json: expected a readable"):
    judge(evaluator, tmp_path, KERNEL)


def test_closed_evaluator_refuses(cache_dir, task):
  evaluator = Evaluator(cache_dir=cache_dir)
  evaluator.close()
  evaluator.close()
  with pytest.raises(ValueError, match="closed"):
    judge(evaluator, task, KERNEL)


DRIVER = """
import pathlib, signal, sys
from jaxkern.evaluator import Evaluator, Request, Result
bundle, cache, source = sys.argv[1:]
# A shell that starts pytest in the background has it ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
with Evaluator(cache_dir=cache) as evaluator:
  print("ready", flush=True)
  evaluator.evaluate([Request(bundle, source, 0, 60.0, 60.0)])
"""


def start_driver(task, tmp_path):
  """A process that evaluates an endless kernel."""
  bundle = tmp_path / "bundle"
  write_bundle(task, bundle, seed=0)
  environment = os.environ | {"TMPDIR": str(tmp_path)}
  arguments = [str(bundle), str(tmp_path / "cache"), FAULTS["timeout"][0]]
  driver = subprocess.Popen(
    [sys.executable, "-c", DRIVER, *arguments],
    stdout=subprocess.PIPE,
    stderr=subprocess.PIPE,
    env=environment,
    text=True,
  )
  assert driver.stdout.readline() == "ready\n"
  time.sleep(0.5)
  return driver


def others_alive(mark: str) -> bool:
  """Whether a process has `mark` in its environment or command line."""
  for pid in filter(str.isdigit, os.listdir("/proc")):
    for name in ("environ", "cmdline"):
      try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
          if mark.encode() in file.read():
            return True
      except OSError:
        pass  # It ended meanwhile.
  return False


def check_all_gone(tmp_path):
  deadline = time.monotonic() + 10
  while others_alive(str(tmp_path)) and time.monotonic() < deadline:
    time.sleep(0.02)
  assert not others_alive(str(tmp_path))
  assert not list(tmp_path.glob("jaxkern-*"))


def test_interrupt_ends_a_waiting_call(task, tmp_path):
  driver = start_driver(task, tmp_path)
  driver.send_signal(signal.SIGINT)
  _, error = driver.communicate(timeout=10)
  assert "KeyboardInterrupt" in error
  check_all_gone(tmp_path)


def test_killed_process_leaves_no_orphans(task, tmp_path):
  driver = start_driver(task, tmp_path)
  assert others_alive(str(tmp_path))
  driver.kill()
  driver.communicate()
  check_all_gone(tmp_path)
