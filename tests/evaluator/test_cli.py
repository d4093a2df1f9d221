import json
import pathlib
import subprocess
import sys

import pytest

from jaxkern.tasks.bundle import write_bundle

from .conftest import KERNEL


@pytest.fixture(scope="module")
def bundle(task, tmp_path_factory):
  directory = tmp_path_factory.mktemp("cli") / "bundle"
  write_bundle(task, directory, seed=0)
  return directory


def jaxkern_eval(*arguments, stdin=""):
  program = pathlib.Path(sys.executable).parent / "jaxkern-eval"
  return subprocess.run(
    [program, *map(str, arguments)],
    input=stdin,
    capture_output=True,
    text=True,
    timeout=60,
  )


def test_one_json_object_per_kernel_in_order(bundle, cache_dir, tmp_path):
  good = tmp_path / "good.cu"
  good.write_text(KERNEL)
  bad = tmp_path / "bad.cu"
  bad.write_text("launch")
  done = jaxkern_eval(
    f"--bundle={bundle}",
    "--device=cpu",
    f"--cache_dir={cache_dir}",
    "--repetitions=3",
    bad,
    good,
    "-",
    stdin=KERNEL,
  )
  assert done.returncode == 0
  assert done.stderr.startswith("cpu: ")
  objects = [json.loads(line) for line in done.stdout.splitlines()]
  assert [o["file"] for o in objects] == [str(bad), str(good), "-"]
  assert [o["status"] for o in objects] == ["compile_error", "ok", "ok"]
  assert len(objects[1]["times_us"]) == 3
  assert set(objects[1]) == {
    "file",
    "status",
    "stage",
    "form",
    "log",
    "diagnosis",
    "max_abs_error",
    "max_rel_error",
    "mismatches",
    "rule",
    "evidence",
    "launches_compared",
    "times_us",
    "preparation",
    "first_call_us",
    "baseline_us",
    "speedup",
    "speedup_low",
    "speedup_high",
    "baselines",
    "device",
    "compile_s",
    "queue_s",
    "run_s",
    "cache_hit",
    "cache_miss",
    "road",
    "road_reason",
    "resources",
    "replay",
  }


def test_misses_are_explained(bundle, cache_dir, tmp_path):
  file = tmp_path / "k.cu"
  file.write_text(KERNEL.replace("a * x[i]", "x[i] * a"))
  flags = (f"--bundle={bundle}", f"--cache_dir={cache_dir}", "--explain-miss")
  first = jaxkern_eval(*flags, "-", stdin=KERNEL)
  done = jaxkern_eval(*flags, file)
  why = "source: line 4 is `if (i < n) y[i] = x[i] * a;`, in the nearest"
  assert json.loads(done.stdout)["cache_miss"].startswith(why)
  assert f"{file}: not in the cache: {why}" in done.stderr
  again = jaxkern_eval(*flags, file)
  assert json.loads(again.stdout)["cache_hit"] and first.returncode == 0
  assert "not in the cache" not in again.stderr


def test_a_replay_agrees_or_says_that_it_does_not(bundle, cache_dir, tmp_path):
  wrong = tmp_path / "wrong.cu"
  wrong.write_text(KERNEL.replace("a * x[i]", "a + x[i]"))
  flags = (f"--bundle={bundle}", f"--cache_dir={cache_dir}")
  first = jaxkern_eval(*flags, "-", wrong, stdin=KERNEL)
  file = tmp_path / "results.json"
  file.write_text(first.stdout)
  done = jaxkern_eval(f"--replay={file}", f"--cache_dir={cache_dir}")
  assert done.returncode == 0
  for line, status in zip(
    done.stdout.splitlines(), ("ok", "wrong_answer"), strict=True
  ):
    replayed = json.loads(line)
    assert replayed["agree"] is True
    assert replayed["then"]["status"] == replayed["now"]["status"] == status
  assert "then: ok\nnow:  ok\nagree\n" in done.stderr
  file.write_text(first.stdout.replace('"status":"ok"', '"status":"nonfinite"'))
  done = jaxkern_eval(f"--replay={file}", f"--cache_dir={cache_dir}")
  assert done.returncode == 3
  assert json.loads(done.stdout.splitlines()[0])["differs"] == ["status"]
  assert "DISAGREE" in done.stderr


def test_diagnose_names_the_fault(bundle, cache_dir):
  done = jaxkern_eval(
    f"--bundle={bundle}",
    f"--cache_dir={cache_dir}",
    "--diagnose=true",
    "-",
    stdin=KERNEL.replace("a * x[i]", "a * x[i + 1]"),
  )
  diagnosis = json.loads(done.stdout)["diagnosis"]
  assert "kernel.cu:4: out-of-bounds read of x[5]" in diagnosis


def test_help_is_no_error():
  done = jaxkern_eval("--help")
  assert done.returncode == 0
  assert "--bundle=DIR" in done.stdout


@pytest.mark.parametrize(
  "arguments, message",
  [
    ([], "--bundle: expected a directory"),
    (["--bundle={bundle}"], "expected at least one kernel file"),
    (
      ["--bundle={bundle}", "/no/kernel.cu"],
      "/no/kernel.cu: expected a readable",
    ),
    (["--bundle={bundle}", "--colour=red", "-"], "unknown flag --colour"),
    (["--bundle={bundle}", "--repetitions", "-"], "expected --flag=value"),
    (
      ["--bundle={bundle}", "--repetitions=x", "-"],
      "--repetitions: expected a",
    ),
    (["--bundle={bundle}", "--device=tpu", "-"], "device: expected"),
    (["--bundle={bundle}", "--compiler=/no/cc", "-"], "/no/cc"),
    (["--bundle=/no/bundle", "-"], "/no/bundle/problem.json: expected"),
  ],
)
def test_wrong_usage_is_one_line_and_exit_2(bundle, arguments, message):
  done = jaxkern_eval(*(a.format(bundle=bundle) for a in arguments))
  assert done.returncode == 2
  assert done.stdout == ""
  errors = [e for e in done.stderr.splitlines() if not e.startswith("cpu: ")]
  assert len(errors) == 1
  assert errors[0].startswith("jaxkern-eval: ")
  assert message in errors[0]
