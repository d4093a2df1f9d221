import glob
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from concurrent import futures

import numpy as np
import pytest

from jaxkern import _core
from jaxkern.evaluator import Evaluator, Request
from jaxkern.tasks import suite
from jaxkern.tasks.bundle import write_bundle
from jaxkern.tasks.task import Argument, Task

sys.path.insert(0, os.path.dirname(__file__))

import candidates  # noqa: E402

RIGHT = candidates.read("corpus")
WRONG = candidates.read("wrong")
ALL = [*RIGHT, *WRONG]


@pytest.fixture(scope="module")
def bundles(tmp_path_factory):
  """A bundle's directory by task."""
  made = tmp_path_factory.mktemp("bundles")
  names = sorted({c.task for c in ALL})
  for name in names:
    write_bundle(suite.get(name), made / name)
  return {name: str(made / name) for name in names}


@pytest.fixture(scope="module")
def results(bundles, tmp_path_factory):
  """Verdicts of the cpu device by name."""
  requests = [
    Request(bundles[c.task], c.source, repetitions=6 if c.status == "ok" else 0)
    for c in ALL
  ]
  cache = tmp_path_factory.mktemp("cache")
  with Evaluator(device="cpu", cache_dir=cache) as evaluator:
    judged = evaluator.evaluate(requests)
  return dict(zip([c.name for c in ALL], judged, strict=True))


@pytest.mark.parametrize("candidate", RIGHT, ids=lambda c: c.name)
def test_right_candidate_is_right_and_timed(results, candidate):
  result = results[candidate.name]
  assert result.status == "ok", result.log
  assert result.form == "torch"
  assert result.times_us and result.speedup > 0


@pytest.mark.parametrize("candidate", WRONG, ids=lambda c: c.name)
def test_wrong_candidate_is_told_what_is_wrong(results, candidate):
  result = results[candidate.name]
  assert result.status == candidate.status, result.log
  assert candidate.log in result.log
  assert result.form == "torch"
  if result.status in ("extract_error", "unsupported"):
    assert result.stage in ("extract", "run")


def test_corpus_is_large_enough():
  assert len(RIGHT) >= 25
  assert len({c.name for c in ALL}) == len(ALL)


def test_message_points_into_the_python_text(results):
  source = next(c.source for c in WRONG if c.name == "syntax_error")
  line = source.splitlines().index("  if (i < n) y[i] = fmaxf(x[i], 0.0f);")
  log = results["syntax_error"].log
  assert f"kernel.cu:{line}:" in log or f"kernel.cu:{line + 1}:" in log


def test_native_form_is_told_from_it(bundles, results, tmp_path):
  with Evaluator(device="cpu", cache_dir=tmp_path) as evaluator:
    request = Request(bundles["relu"], suite.get("relu").baseline)
    (result,) = evaluator.evaluate([request])
  assert (result.status, result.form) == ("ok", "native")
  assert '"form":"native"' in result.to_json()
  assert '"form":"torch"' in results["relu_load_inline"].to_json()


def test_checker_names_the_line_of_the_python_text(bundles, tmp_path):
  right = next(c.source for c in RIGHT if c.name == "relu_load_inline")
  wrong = right.replace("if (idx < size)", "if (idx <= size)")
  line = right.splitlines().index(
    "        output[idx] = input[idx] > 0.0f ? input[idx] : 0.0f;"
  )
  with Evaluator(device="cpu", cache_dir=tmp_path) as evaluator:
    request = Request(bundles["relu"], wrong, diagnose=True)
    (result,) = evaluator.evaluate([request])
  assert result.status == "runtime_error"
  assert result.diagnosis.startswith(f"kernel.cu:{line + 1}: out-of-bounds")
  assert "x[1] (x has 1 element" in result.diagnosis


PAIR = """
#include <torch/extension.h>
__global__ void pair(const float* x, float* s, float* d, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i >= n) return;
  s[i] = 2.0f * x[i];
  d[i] = x[i] - 1.0f;
}
RETURNS pair_of(torch::Tensor x) {
  auto BEFORE
  pair<<<(x.numel() + 63) / 64, 64>>>(x.data_ptr<float>(), s.data_ptr<float>(),
                                      d.data_ptr<float>(), x.numel());
  return {s, d};
}
"""


def pair_task():
  """Returns 2 x and x - 1."""
  return Task(
    name="pair_test",
    level=1,
    family="elementwise",
    split="train",
    summary="s = 2 * x; d = x - 1",
    arguments=(
      Argument("x", "input", "float32", ("n",)),
      Argument("s", "output", "float32", ("n",)),
      Argument("d", "output", "float32", ("n",)),
      Argument("n", "attribute", "int64"),
    ),
    cases=({"n": 5}, {"n": 700}),
    timed=(1,),
    hidden=({"n": 7},),
    make_inputs=lambda rng, attributes: {
      "x": rng.standard_normal(attributes["n"]).astype(np.float32)
    },
    reference=lambda inputs, attributes: {
      "s": 2 * inputs["x"],
      "d": inputs["x"] - 1,
    },
    tolerance=lambda attributes: (1e-6, 1e-6),
    baseline=NATIVE_PAIR,
  )


NATIVE_PAIR = """
__global__ void pair(const float* x, float* s, float* d, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) s[i] = 2.0f * x[i], d[i] = x[i] - 1.0f;
}
extern "C" int launch(const float* x, float* s, float* d, int64_t n,
                      cudaStream_t stream) {
  pair<<<(n + 63) / 64, 64, 0, stream>>>(x, s, d, n);
  return cudaGetLastError();
}
"""


@pytest.mark.parametrize(
  "returns",
  [
    "std::vector<torch::Tensor>",
    "std::tuple<torch::Tensor, at::Tensor>",
    "std::pair<torch::Tensor, torch::Tensor>",
    "std::array<torch::Tensor, 2>",
  ],
)
def test_several_outputs_in_any_order_of_allocation(returns, tmp_path):
  orders = (
    "s = torch::empty_like(x), d = torch::empty_like(x);",
    "d = torch::empty_like(x), s = torch::empty_like(x);",  # Swapped at last.
    "t = torch::zeros_like(x); auto d = torch::full_like(x, 7.5f),"
    " s = torch::ones_like(x);",
    "d = torch::empty({2 * x.numel()}, x.options()).slice(0, 3, 3 + x.numel()),"
    " s = torch::empty_like(x);",
  )
  sources = [
    PAIR.replace("RETURNS", returns).replace("BEFORE", order)
    for order in orders
  ]
  with Evaluator(device="cpu", cache_dir=tmp_path) as evaluator:
    results = evaluator.evaluate(
      [Request(pair_task(), source, repetitions=10) for source in sources]
    )
  for result in results:
    assert result.status == "ok", result.log
    assert result.launches_compared > 10


FILLED = """
#include <torch/extension.h>
__global__ void add(const float* x, const float* c, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + c[i] + c[n - 1 - i];
}
__global__ void same(const int64_t* c, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && c[i] != -12345678901LL) y[i] = 1e9f;
}
torch::Tensor f(torch::Tensor x) {
  int n = x.numel();
  auto c = torch::full({n}, 0.25, x.options());
  auto k = torch::full({n}, -12345678901LL, x.options().dtype(torch::kLong));
  auto y = torch::empty_like(x);
  add<<<n / 64 + 1, 64>>>(x.data_ptr<float>(), c.data_ptr<float>(),
                          y.data_ptr<float>(), n);
  same<<<n / 64 + 1, 64>>>(k.data_ptr<int64_t>(), y.data_ptr<float>(), n);
  auto z = y.clone();
  y.fill_(-1);
  return z;
}
"""


def test_filling_and_copying_reach_every_element(tmp_path):
  task = pair_task()._replace(
    name="half_more_test",
    arguments=(
      Argument("x", "input", "float32", ("n",)),
      Argument("y", "output", "float32", ("n",)),
      Argument("n", "attribute", "int64"),
    ),
    reference=lambda inputs, attributes: {"y": inputs["x"] + 0.5},
  )
  with Evaluator(device="cpu", cache_dir=tmp_path) as evaluator:
    (result,) = evaluator.evaluate([Request(task, FILLED)])
  assert result.status == "ok", result.log


def nvcc():
  """CUDA_HOME, PATH, then the wheels."""
  wheels = sysconfig.get_paths()["purelib"] + "/nvidia/cu*/bin"
  places = [os.environ.get("CUDA_HOME", "/nowhere") + "/bin"]
  places += [os.environ["PATH"], *glob.glob(wheels)]
  return shutil.which("nvcc", path=os.pathsep.join(places))


def test_nvcc_compiles_all_right_candidates(bundles, tmp_path):
  """The front end of all, as for the device; every sixth one's object file."""
  if nvcc() is None:
    pytest.skip("no nvcc: install jaxkern-cuda[test]")
  whole = RIGHT[::6]

  def compile_one(candidate):
    text, flags = _core.torch_unit(bundles[candidate.task], candidate.source)
    unit = tmp_path / f"{candidate.name}.cu"
    unit.write_text(text)
    command = [nvcc(), "-c" if candidate in whole else "-cubin", *flags]
    command += ["-arch=sm_90", "-std=c++17", "-Xcompiler=-O1"]
    command += ["--expt-relaxed-constexpr", "--extended-lambda"]
    command += ["-o", str(unit.with_suffix(".o")), str(unit)]
    return candidate.name, subprocess.run(
      command, capture_output=True, text=True
    )

  with futures.ThreadPoolExecutor(2) as pool:
    for name, done in pool.map(compile_one, RIGHT):
      assert done.returncode == 0, name + done.stderr
  for candidate in whole:
    # Code with symbols that are unique in the process is never unloaded.
    symbols = subprocess.run(
      ["nm", tmp_path / f"{candidate.name}.o"], capture_output=True, text=True
    ).stdout
    assert " T jaxkern_entry" in symbols
    assert not re.search(r" u .*(3c10|2at|13jaxkern_torch)", symbols), symbols
