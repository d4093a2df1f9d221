"""Faults that only unusual inputs show, on the cpu device."""

import pytest

from jaxkern.evaluator import Evaluator, Request
from jaxkern.tasks import inputs, suite
from jaxkern.tasks.recipe import HEADERS, dtype
from jaxkern.tasks.task import launch_signature, parameter


def written(name, body):
  """A kernel of a task: `body` works on element i, or on row r."""
  recipe = suite.recipe(name)
  names = [a.name for a in recipe.arguments]
  count, index = ("n", "i") if "n" in names else ("rows", "r")
  parameters = ", ".join(map(parameter, recipe.arguments))
  return f"""{HEADERS.get(dtype(recipe), "")}
__global__ void run({parameters}) {{
  int64_t {index} = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if ({index} >= {count}) return;
  {body}
}}
{launch_signature(recipe.arguments)} {{
  run<<<({count} + 63) / 64, 64, 0, stream>>>({", ".join(names)});
  return cudaGetLastError();
}}
"""


ROW = "const float* v = x + r * cols;"
EACH = "for (int64_t c = 0; c < cols; ++c)"

# Task, kernel, the kind of inputs that shows it, and the status.
FAULTS = {
  "exp_without_maximum": (
    "softmax",
    f"{ROW} float s = 0; {EACH} s += expf(v[c]);"
    f" {EACH} y[r * cols + c] = expf(v[c]) / s;",
    inputs.OFFSET,
    "nonfinite",
  ),
  "variance_as_difference_of_means": (
    "layer_norm",
    f"{ROW} float s = 0, q = 0; {EACH} s += v[c], q += v[c] * v[c];"
    " float m = s / cols, d = sqrtf(q / cols - m * m + 1e-5f);"
    f" {EACH} y[r * cols + c] = (v[c] - m) / d;",
    inputs.OFFSET,
    "wrong_answer",
  ),
  "fixed_point_sum_that_overflows": (
    "row_sum",
    f"{ROW} int s = 0; {EACH} s += __float2int_rn(v[c] * 1048576.0f);"
    " y[r] = s / 1048576.0f;",
    inputs.OFFSET,
    "wrong_answer",
  ),
  "half_that_overflows": (
    "scale_f16",
    "__half h = __float2half(__half2float(x[i]) * 1024.0f);"
    " y[i] = __float2half(__half2float(h) * (a / 1024.0f));",
    inputs.WIDE,
    "nonfinite",
  ),
  "tanh_from_exponentials": (
    "tanh",
    "float e = expf(2 * x[i]); y[i] = (e - 1) / (e + 1);",
    inputs.WIDE,
    "nonfinite",
  ),
  "logarithm_of_what_underflows": (
    "log_softmax",
    f"{ROW} float m = -INFINITY, s = 0; {EACH} m = fmaxf(m, v[c]);"
    f" {EACH} s += expf(v[c] - m);"
    f" {EACH} y[r * cols + c] = logf(expf(v[c] - m) / s);",
    inputs.WIDE,
    "nonfinite",
  ),
  "zeros_left_unwritten": (
    "relu",
    "if (x[i] > 0) y[i] = x[i]; else if (x[i] < 0) y[i] = 0;",
    inputs.TIES,
    "wrong_answer",
  ),
  "zero_over_zero": (
    "silu",
    "float v = x[i]; y[i] = v * v / (v + v * expf(-v));",
    inputs.TIES,
    "nonfinite",
  ),
  "norm_of_zero": (
    "row_norm",
    f"{ROW} float s = 0; {EACH} s += v[c] * v[c]; y[r] = s * rsqrtf(s);",
    inputs.TIES,
    "nonfinite",
  ),
  "denormals_flushed": (
    "scale",
    "y[i] = fabsf(x[i]) < 1.17549435e-38f ? 0.0f : a * x[i];",
    inputs.DENORMAL,
    "wrong_answer",
  ),
  "maximum_from_0": (
    "row_max",
    f"{ROW} float m = 0; {EACH} m = fmaxf(m, v[c]); y[r] = m;",
    inputs.NEGATIVE,
    "wrong_answer",
  ),
}

# The same tasks in honest ways whose errors differ from the reference's.
HONEST = {
  "online_softmax": (
    "softmax",
    f"{ROW} float m = -INFINITY, s = 0;"
    f" {EACH} {{ float n = fmaxf(m, v[c]);"
    " s = s * expf(m - n) + expf(v[c] - n); m = n; }"
    f" {EACH} y[r * cols + c] = expf(v[c] - m) * (1.0f / s);",
  ),
  "welford": (
    "layer_norm",
    f"{ROW} float m = 0, q = 0; {EACH} {{ float d = v[c] - m;"
    " m += d / (c + 1); q += d * (v[c] - m); }"
    f" {EACH} y[r * cols + c] = (v[c] - m) * rsqrtf(q / cols + 1e-5f);",
  ),
  "shifted_variance": (
    "layer_norm_add",
    "float k = x[r * cols] + z[r * cols], s = 0, q = 0;"
    f" {EACH} {{ float d = x[r * cols + c] + z[r * cols + c] - k;"
    " s += d; q += d * d; }"
    " float m = s / cols, w = rsqrtf(q / cols - m * m + 1e-5f);"
    f" {EACH} y[r * cols + c] ="
    " (x[r * cols + c] + z[r * cols + c] - k - m) * w;",
  ),
  "log_sum_exp": (
    "log_softmax",
    f"{ROW} float m = -INFINITY, s = 0; {EACH} m = fmaxf(m, v[c]);"
    f" {EACH} s += expf(v[c] - m); float l = m + logf(s);"
    f" {EACH} y[r * cols + c] = v[c] - l;",
  ),
  "sum_in_four_parts": (
    "row_sum",
    f"{ROW} float s[4] = {{}}; {EACH} s[c % 4] += v[c];"
    " y[r] = (s[0] + s[1]) + (s[2] + s[3]);",
  ),
  "backward_sum": (
    "row_sum_mul",
    "float s = 0; for (int64_t c = cols - 1; c >= 0; --c)"
    " s = fmaf(x[r * cols + c], z[r * cols + c], s); y[r] = s;",
  ),
  "half_multiplication": (
    "mul_f16",
    "y[i] = __hmul(x[i], z[i]);",
  ),
  "sigmoid_by_tanh": (
    "sigmoid",
    "y[i] = 0.5f * tanhf(0.5f * x[i]) + 0.5f;",
  ),
}


@pytest.fixture(scope="module")
def evaluator(tmp_path_factory):
  """With bundles of its own: many differ in their kinds of inputs alone."""
  cache = tmp_path_factory.mktemp("cache")
  with Evaluator(device="cpu", cache_dir=cache) as evaluator:
    yield evaluator


def judge(evaluator, task, source):
  return evaluator.evaluate([Request(task, source)])[0]


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_passes_with_ordinary_inputs_and_is_found(evaluator, fault):
  name, body, kind, status = FAULTS[fault]
  task = suite.get(name)
  source = written(name, body)
  ordinary = task._replace(kinds=())
  if kind == inputs.NEGATIVE:  # Rows of one and of three show it by chance.
    ordinary = ordinary._replace(cases=(task.cases[3],), timed=())
  before = judge(evaluator, ordinary, source)
  assert before.status == "ok", before.log
  for _ in range(2):  # Whatever is drawn.
    result = judge(evaluator, task, source)
    assert result.status == status, result.log
    assert kind in result.log


@pytest.mark.parametrize("way", HONEST)
def test_honest_way_is_right_on_all_kinds(evaluator, way):
  name, body = HONEST[way]
  result = judge(evaluator, suite.get(name), written(name, body))
  assert result.status == "ok", result.log
  assert result.launches_compared == len(suite.get(name).cases) + len(
    suite.get(name).kinds
  )


@pytest.mark.parametrize(
  "name",
  [
    "axpy_gelu",
    "relu_bf16",
    "row_norm_mul",
    "layer_norm_bias",
    "softmax_mul",
    "rms_norm_gain",
    "matvec_sigmoid",
    "matmul_bias_gelu",
  ],
)
def test_baseline_is_right_on_all_kinds(evaluator, name):
  result = judge(evaluator, suite.get(name), suite.get(name).baseline)
  assert result.status == "ok", result.log
