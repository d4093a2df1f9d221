import collections
import glob
import os
import shutil
import subprocess
import sys
import sysconfig
from concurrent import futures

import numpy as np
import pytest

from jaxkern.evaluator import Evaluator, Request

sys.path.insert(0, os.path.dirname(__file__))

import kernels  # noqa: E402
from faults import FAULTS  # noqa: E402

HEADERS = (
  "cmath",
  "cstdint",
  "cstdio",
  "cassert",
  "cuda_fp16.h",
  "cuda_bf16.h",
  "cooperative_groups.h",
  "cooperative_groups/reduce.h",
)
# Names things from the global namespace on.
ALONE = ("launch_in_template",)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
  """All kernels and all faulty ones, judged on the cpu device at once."""
  bundles = tmp_path_factory.mktemp("bundles")
  cache = tmp_path_factory.mktemp("cache")
  requests = {
    name: Request(kernels.write_bundle(name, bundles), kernels.source(name))
    for name in kernels.names()
  }
  for name, (source, _, _) in FAULTS.items():
    problem = str(bundles / "elementwise")
    requests[f"fault {name}"] = Request(problem, source, run_timeout_s=10)
  with Evaluator(device="cpu", cache_dir=cache) as evaluator:
    judged = evaluator.evaluate(list(requests.values()))
  return dict(zip(requests, judged, strict=True))


@pytest.mark.parametrize("name", kernels.names())
def test_kernel_computes_the_expected_numbers(results, name):
  result = results[name]
  assert result.status == "ok", result.log


@pytest.fixture(scope="module")
def diagnoses(tmp_path_factory):
  """What the checker finds when other numbers are expected of the kernels."""
  bundles = tmp_path_factory.mktemp("spoiled")
  requests = []
  for name in kernels.names():
    bundle = kernels.write_bundle(name, bundles)
    y = np.load(f"{bundle}/y.npy")
    np.save(f"{bundle}/y.npy", np.full_like(y, 77))
    requests.append(Request(bundle, kernels.source(name), diagnose=True))
  with Evaluator(device="cpu", cache_dir=bundles / ".cache") as evaluator:
    return dict(zip(kernels.names(), evaluator.evaluate(requests), strict=True))


@pytest.mark.parametrize("name", kernels.names())
def test_checker_finds_no_fault_in_a_right_kernel(diagnoses, name):
  result = diagnoses[name]
  assert result.status in ("wrong_answer", "nonfinite"), result.log
  assert result.diagnosis == ""


@pytest.mark.parametrize("name", FAULTS)
def test_fault_is_reported_as_what_it_is(results, name):
  _, status, text = FAULTS[name]
  result = results[f"fault {name}"]
  assert result.status == status, result.log
  assert text in result.log


def test_expected_values_are_read_from_the_first_lines():
  text = "// expect: [2 * i for i in range(n)]\n// n: 3\n"
  assert kernels.expected(text).tolist() == [0, 2, 4]
  with pytest.raises(ValueError, match="expected 3 values, got 2"):
    kernels.expected("// expect: 1 2\n// n: 3\n")


def nvcc():
  """CUDA_HOME, PATH, then the wheels."""
  wheels = sysconfig.get_paths()["purelib"] + "/nvidia/cu*/bin"
  places = [os.environ.get("CUDA_HOME", "/nowhere") + "/bin"]
  places += [os.environ["PATH"], *glob.glob(wheels)]
  return shutil.which("nvcc", path=os.pathsep.join(places))


def one_unit(names):
  """Kernels as one translation unit, each in a namespace of its own."""
  lines = [f"#include <{header}>" for header in HEADERS]
  for name in names:
    path = kernels.DIRECTORY / f"{name}.cu"
    lines += [f"#define launch launch_{name}", f'#include "{path}"']
    if name not in ALONE:
      lines.insert(-1, f"namespace in_{name} {{")
      lines += ["}"]
    lines += ["#undef launch", "#undef LAUNCH", "#undef CASE"]
  return "\n".join(lines) + "\n"


def test_nvcc_compiles_all_kernels(tmp_path):
  if nvcc() is None:
    pytest.skip("no nvcc: install jaxkern-cuda[test]")
  halves = collections.defaultdict(list)
  for i, name in enumerate(kernels.names()):
    halves[i % 2].append(name)

  def compile_half(i):
    unit = tmp_path / f"unit{i}.cu"
    unit.write_text(one_unit(halves[i]))
    command = [nvcc(), "-cubin", "-arch=sm_90", "-std=c++17"]
    command += ["--expt-relaxed-constexpr", "--extended-lambda"]
    command += ["-o", str(unit.with_suffix(".cubin")), str(unit)]
    return subprocess.run(command, capture_output=True, text=True)

  with futures.ThreadPoolExecutor(2) as pool:
    for done in pool.map(compile_half, halves):
      assert done.returncode == 0, done.stderr
