"""Problems of our own in KernelBench's form, naive candidates, planted errors.

Each computes what the benchmark's problem of the same level and number does, so
that `benchmarks/kernelbench.py` judges the candidates against that one too. A
planted error is a replacement in the candidate's text after which it is wrong.
"""

import pathlib
import textwrap
from typing import NamedTuple


class Pair(NamedTuple):
  """`reference` and `candidate` are whole files; `error` is (old, new)."""

  level: int
  number: int
  name: str
  reference: str
  candidate: str
  error: tuple[str, str]


def _reference(forward, sizes, inputs, given="", parameters="", made="pass"):
  return (
    "import torch\nimport torch.nn as nn\n\n"
    "class Model(nn.Module):\n"
    f"  def __init__(self{', ' + parameters if parameters else ''}):\n"
    "    super().__init__()\n"
    f"{textwrap.indent(made, '    ')}\n\n"
    f"  def forward(self, {forward[0]}):\n    return {forward[1]}\n\n"
    f"{sizes}\n\n"
    f"def get_inputs():\n  return [{inputs}]\n\n"
    f"def get_init_inputs():\n  return [{given}]\n"
  )


def _candidate(head, cuda, names, call, parameters="", made="pass"):
  return (
    "import torch\nimport torch.nn as nn\n"
    "from torch.utils.cpp_extension import load_inline\n\n"
    'source = """\n#include <torch/extension.h>\n#include <cuda_runtime.h>\n'
    f'{textwrap.dedent(cuda).strip()}\n"""\n\n'
    f'ext = load_inline(name="ext", cpp_sources="{head};",\n'
    '  cuda_sources=source, functions=["run"], verbose=False)\n\n\n'
    "class ModelNew(nn.Module):\n"
    f"  def __init__(self{', ' + parameters if parameters else ''}):\n"
    "    super().__init__()\n"
    f"{textwrap.indent(made, '    ')}\n\n"
    f"  def forward(self, {names}):\n    return {call}\n"
  )


def _of_x(number, name, torch_text, text, cols, error):
  """y of a matrix x, of the same shape."""
  sizes = f"rows = 96\ndim = {cols}"
  return Pair(
    1,
    number,
    name,
    _reference(("x", torch_text), sizes, "torch.randn(rows, dim)"),
    _candidate(
      "torch::Tensor run(torch::Tensor x)", text, "x", "ext.run(x)", "*given"
    ),
    error,
  )


def _elementwise(number, name, torch_text, cuda, error):
  """y = f(v) of one array."""
  text = f"""
  __global__ void kernel(const float* x, float* y, long n) {{
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    y[i] = {cuda};
  }}
  torch::Tensor run(torch::Tensor x) {{
    auto y = torch::empty_like(x);
    long n = x.numel();
    kernel<<<(n + 255) / 256, 256>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
  }}"""
  return _of_x(number, name, torch_text, text, 1024, error)


def _linear(number, name, tail, cuda, extra=(), error=("acc += ", "acc -= ")):
  """A linear layer and what follows; `extra` are constants with values."""
  parameters = ", ".join(["n_in", "n_out", *(k for k, _ in extra)])
  made = "self.linear = nn.Linear(n_in, n_out)"
  made += "".join(f"\nself.{k} = {k}" for k, _ in extra)
  numbers = "".join(f", double {k}" for k, _ in extra)
  floats = "".join(f", float {k}" for k, _ in extra)
  passed = "".join(f", (float){k}" for k, _ in extra)
  head = "torch::Tensor run(torch::Tensor x, torch::Tensor w, torch::Tensor b"
  head += numbers + ")"
  text = f"""
  __global__ void kernel(const float* x, const float* w, const float* b,
                         float* y, int m, int n, int k{floats}) {{
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y;
    if (j >= n) return;
    float acc = b[j];
    for (int p = 0; p < k; ++p) acc += x[i * (long)k + p] * w[j * (long)k + p];
    y[i * (long)n + j] = {cuda};
  }}
  {head} {{
    int m = x.size(0), k = x.size(1), n = w.size(0);
    auto y = torch::empty({{m, n}}, x.options());
    kernel<<<dim3((n + 127) / 128, m), 128>>>(
        x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(),
        y.data_ptr<float>(), m, n, k{passed});
    return y;
  }}"""
  sizes = "batch = 64\nn_in = 256\nn_out = 96"
  sizes += "".join(f"\n{k} = {v}" for k, v in extra)
  given = parameters
  call = "ext.run(x, self.linear.weight, self.linear.bias"
  call += "".join(f", self.{k}" for k, _ in extra) + ")"
  return Pair(
    2,
    number,
    name,
    _reference(
      ("x", tail), sizes, "torch.rand(batch, n_in)", given, parameters, made
    ),
    _candidate(head, text, "x", call, parameters, made),
    error,
  )


def _product(number, name, torch_text, index, shape, error):
  """A product of two matrices, either of them perhaps transposed."""
  a, b = index
  text = f"""
  __global__ void kernel(const float* a, const float* b, float* c,
                         int m, int n, int k) {{
    int j = blockIdx.x * 16 + threadIdx.x, i = blockIdx.y * 16 + threadIdx.y;
    if (i >= m || j >= n) return;
    float acc = 0.0f;
    for (int p = 0; p < k; ++p) acc += a[{a}] * b[{b}];
    c[i * (long)n + j] = acc;
  }}
  torch::Tensor run(torch::Tensor a, torch::Tensor b) {{
    int m = {shape[0]}, k = {shape[1]}, n = {shape[2]};
    auto c = torch::zeros({{m, n}}, a.options());
    kernel<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(
        a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), m, n, k);
    return c;
  }}"""
  first = "K, M" if shape[0] == "a.size(1)" else "M, K"
  second = "N, K" if shape[2] == "b.size(0)" else "K, N"
  return Pair(
    1,
    number,
    name,
    _reference(
      ("A, B", torch_text),
      "M = 72\nK = 128\nN = 56",
      f"torch.rand({first}), torch.rand({second})",
    ),
    _candidate(
      "torch::Tensor run(torch::Tensor a, torch::Tensor b)",
      text,
      "A, B",
      "ext.run(A, B)",
    ),
    error,
  )


def _rows(number, name, torch_text, body, error):
  """A row to a row, one thread each."""
  text = f"""
  __global__ void kernel(const float* x, float* y, int rows, int n) {{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    x += r * (long)n;
    y += r * (long)n;
    {body}
  }}
  torch::Tensor run(torch::Tensor x) {{
    auto y = torch::empty_like(x);
    kernel<<<(x.size(0) + 63) / 64, 64>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1));
    return y;
  }}"""
  return _of_x(number, name, torch_text, text, 512, error)


def _middle(number, name, torch_text, body, kept, error):
  """Reduces [A, L, B] over L, one thread per element of the answer."""
  text = f"""
  __global__ void kernel(const float* x, float* y, int a, int l, int b) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= a * b) return;
    x += (long)(i / b) * l * b + i % b;
    float acc = x[0];
    for (int p = 1; p < l; ++p) {{
      float v = x[p * (long)b];
      {body}
    }}
    y[i] = acc;
  }}
  torch::Tensor run(torch::Tensor x, int64_t dim) {{
    TORCH_CHECK(dim == 1, "dim is 1 here");
    int a = x.size(0), l = x.size(1), b = x.size(2);
    auto y = torch::empty({{a, {"1, " if kept else ""}b}}, x.options());
    kernel<<<(a * b + 127) / 128, 128>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), a, l, b);
    return y;
  }}"""
  made = "self.dim = dim"
  return Pair(
    1,
    number,
    name,
    _reference(
      ("x", torch_text),
      "batch = 4\ndim1 = 64\ndim2 = 95",
      "torch.rand(batch, dim1, dim2)",
      "1",
      "dim",
      made,
    ),
    _candidate(
      "torch::Tensor run(torch::Tensor x, int64_t dim)",
      text,
      "x",
      "ext.run(x, self.dim)",
      "dim",
      made,
    ),
    error,
  )


_GELU = "0.5f * v * (1.0f + erff(v * 0.70710678f))"
_TANH_GELU = (
  "0.5f * v * (1.0f + tanhf(0.79788456f * (v + 0.044715f * v * v * v)))"
)

PAIRS = [
  _elementwise(
    19, "relu", "torch.relu(x)", "fmaxf(v, 0.0f)", ("fmaxf(v, 0.0f)", "v + v")
  ),
  _elementwise(
    20,
    "leaky_relu",
    "torch.nn.functional.leaky_relu(x, 0.01)",
    "v > 0.0f ? v : 0.01f * v",
    ("? v :", "? 0.99f * v :"),
  ),
  _elementwise(
    21,
    "sigmoid",
    "torch.sigmoid(x)",
    "1.0f / (1.0f + expf(-v))",
    ("expf(-v)", "expf(v)"),
  ),
  _elementwise(
    22, "tanh", "torch.tanh(x)", "tanhf(v)", ("tanhf(v)", "v - v * v * v / 3")
  ),
  _elementwise(
    25, "swish", "x * torch.sigmoid(x)", "v / (1.0f + expf(-v))", ("v /", "1 /")
  ),
  _elementwise(
    26, "gelu", "torch.nn.functional.gelu(x)", _GELU, (_GELU, _TANH_GELU)
  ),
  _elementwise(
    29,
    "softplus",
    "torch.nn.functional.softplus(x)",
    "v > 20.0f ? v : log1pf(expf(v))",
    ("log1pf", "logf"),
  ),
  _elementwise(
    30, "softsign", "x / (1 + x.abs())", "v / (1 + fabsf(v))", ("(1 +", "(2 +")
  ),
  _elementwise(
    31,
    "elu",
    "torch.nn.functional.elu(x)",
    "v > 0.0f ? v : expm1f(v)",
    ("? v :", "? expm1f(v) :"),
  ),
  _elementwise(
    88,
    "new_gelu",
    "torch.nn.functional.gelu(x, approximate='tanh')",
    _TANH_GELU,
    ("0.044715f", "0.04f"),
  ),
  _product(
    1,
    "square",
    "torch.matmul(A, B)",
    ("i * (long)k + p", "p * (long)n + j"),
    ("a.size(0)", "a.size(1)", "b.size(1)"),
    ("p < k", "p < k - 1"),
  ),
  _product(
    16,
    "transposed_a",
    "torch.matmul(A.T, B)",
    ("p * (long)m + i", "p * (long)n + j"),
    ("a.size(1)", "a.size(0)", "b.size(1)"),
    ("p * (long)m + i", "i * (long)k + p"),
  ),
  _product(
    17,
    "transposed_b",
    "torch.matmul(A, B.T)",
    ("i * (long)k + p", "j * (long)k + p"),
    ("a.size(0)", "a.size(1)", "b.size(0)"),
    ("j >= n", "j >= n - 1"),
  ),
  _rows(
    23,
    "softmax",
    "torch.softmax(x, dim=1)",
    """float top = x[0], sum = 0.0f;
    for (int j = 1; j < n; ++j) top = fmaxf(top, x[j]);
    for (int j = 0; j < n; ++j) sum += expf(x[j] - top);
    for (int j = 0; j < n; ++j) y[j] = expf(x[j] - top) / sum;""",
    ("sum = 0.0f", "sum = 1.0f"),
  ),
  _rows(
    24,
    "log_softmax",
    "torch.log_softmax(x, dim=1)",
    """float top = x[0], sum = 0.0f;
    for (int j = 1; j < n; ++j) top = fmaxf(top, x[j]);
    for (int j = 0; j < n; ++j) sum += expf(x[j] - top);
    for (int j = 0; j < n; ++j) y[j] = x[j] - top - logf(sum);""",
    ("- top - logf", "- logf"),
  ),
  _rows(
    89,
    "cumsum",
    "torch.cumsum(x, dim=1)",
    """float sum = 0.0f;
    for (int j = 0; j < n; ++j) y[j] = sum += x[j];""",
    ("y[j] = sum += x[j]", "y[j] = sum, sum += x[j]"),
  ),
  _middle(
    47, "sum", "x.sum(1, keepdim=True)", "acc += v;", True, ("p = 1", "p = 2")
  ),
  _middle(
    49,
    "max",
    "x.max(1)[0]",
    "acc = fmaxf(acc, v);",
    False,
    ("p < l;", "p < l / 2;"),
  ),
  _linear(
    9,
    "subtract_multiply_relu",
    "torch.relu((self.linear(x) - self.less) * self.times)",
    "fmaxf((acc - less) * times, 0.0f)",
    (("less", 2.0), ("times", 1.5)),
    ("float acc = b[j]", "float acc = 3.0f"),
  ),
  _linear(
    12,
    "multiply_leaky_relu",
    "nn.functional.leaky_relu(self.linear(x) * self.times, self.slope)",
    "acc * times > 0 ? acc * times : acc * times * slope",
    (("times", 2.0), ("slope", 0.1)),
    ("acc * times * slope", "acc * times"),
  ),
  _linear(
    40,
    "scaling_residual",
    "self.linear(x) * (1 + self.scale)",
    "acc * scale + acc",
    (("scale", 0.5),),
    ("acc * scale + acc", "acc * scale"),
  ),
  _linear(
    86,
    "divide_gelu",
    "nn.functional.gelu(self.linear(x) / self.by)",
    "(acc /= by, " + _GELU.replace("v", "acc") + ")",
    (("by", 10.0),),
    ("acc /= by", "acc /= 9.0f"),
  ),
]


def write_checkout(directory: pathlib.Path) -> None:
  """A folder that looks like the benchmark's repository."""
  for pair in PAIRS:
    folder = directory / "KernelBench" / f"level{pair.level}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{pair.number}_{pair.name}.py").write_text(pair.reference)
