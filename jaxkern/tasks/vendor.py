"""Baselines that call NVIDIA's libraries, for the tasks that these have.

cuBLAS multiplies and transposes, CUB reduces rows, cuDNN has softmax. What a
library lacks (an activation behind a product) is a kernel of ours in the same
`launch`, as a framework would launch one. All compute in plain float32: TF32
would be found wrong. Handles and workspaces are made by the first call, which
is not timed.
"""

from jaxkern.tasks import recipe as rc
from jaxkern.tasks.recipe import Recipe
from jaxkern.tasks.task import Baseline, launch_signature, parameter

_CUBLAS = """\
#include <cublas_v2.h>

struct Cublas {
  cublasHandle_t handle = nullptr;
  Cublas() {
    cublasCreate(&handle);
    cublasSetMathMode(handle, CUBLAS_DEFAULT_MATH);  // float32 stays float32
  }
  ~Cublas() { cublasDestroy(handle); }
};

"""

_CUDNN = """\
#include <cudnn.h>

struct Cudnn {
  cudnnHandle_t handle = nullptr;
  cudnnTensorDescriptor_t matrix = nullptr;
  Cudnn() {
    cudnnCreate(&handle);
    cudnnCreateTensorDescriptor(&matrix);
  }
  ~Cudnn() {
    cudnnDestroyTensorDescriptor(matrix);
    cudnnDestroy(handle);
  }
};

"""

_CUB = """\
#include <cub/cub.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/transform_output_iterator.h>

struct Workspace {
  void* memory = nullptr;
  size_t bytes = 0;
  cudaError_t grow(size_t needed) {
    if (needed <= bytes) return cudaSuccess;
    cudaFree(memory);
    memory = nullptr;
    bytes = 0;
    cudaError_t error = cudaMalloc(&memory, needed);
    if (error == cudaSuccess) bytes = needed;
    return error;
  }
  ~Workspace() { cudaFree(memory); }
};

struct RowStart {
  int64_t cols;
  __host__ __device__ int64_t operator()(int64_t r) const { return r * cols; }
};

"""


def matmul(recipe: Recipe) -> Baseline:
  """cuBLAS, and a kernel for a bias or an activation."""
  value = recipe.activation.format(v=f"({recipe.read.format(c='i % n')})")
  # Row-major y = x w is column-major y' = w' x'.
  product = "cublasSgemm_64(cublas.handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, w, n, x, k, &zero, y, n)"  # noqa: E501
  return _cublas(recipe, product, value, "m * n")


def matvec(recipe: Recipe) -> Baseline:
  """cuBLAS, and a kernel for a bias or an activation."""
  product = "cublasSgemv_64(cublas.handle, CUBLAS_OP_T, cols, rows, &one, x, cols, w, 1, &zero, y, 1)"  # noqa: E501
  return _cublas(recipe, product, recipe.result.format(r="i"), "rows")


def transpose(recipe: Recipe) -> Baseline | None:
  """cuBLAS for what is linear in the operands, None for other tasks."""
  factors = {
    "x[{i}]": ("1.0f", "0.0f", "x"),
    "a * x[{i}]": ("a", "0.0f", "x"),
    "x[{i}] + z[{i}]": ("1.0f", "1.0f", "z"),
    "a * x[{i}] + z[{i}]": ("a", "1.0f", "z"),
  }
  if recipe.read not in factors or recipe.activation != "{v}":
    return None
  alpha, beta, second = factors[recipe.read]
  call = f"cublasSgeam_64(cublas.handle, CUBLAS_OP_T, CUBLAS_OP_T, rows, cols, &alpha, x, cols, &beta, {second}, cols, y, rows)"  # noqa: E501
  body = f"  const float alpha = {alpha}, beta = {beta};\n"
  return Baseline(
    _CUBLAS + _launch(recipe, body + _cublas_call(call)), ("cublas",)
  )


def softmax(recipe: Recipe) -> Baseline | None:
  """cuDNN for softmax and its logarithm of x itself, None for other tasks."""
  kinds = {"softmax": "ACCURATE", "log_softmax": "LOG"}
  if recipe.name not in kinds:
    return None
  body = f"""\
  static Cudnn cudnn;
  const float one = 1.0f, zero = 0.0f;
  if (cudnnSetStream(cudnn.handle, stream) != CUDNN_STATUS_SUCCESS ||
      cudnnSetTensor4dDescriptor(cudnn.matrix, CUDNN_TENSOR_NCHW,
                                 CUDNN_DATA_FLOAT, (int)rows, (int)cols, 1,
                                 1) != CUDNN_STATUS_SUCCESS ||
      cudnnSoftmaxForward(cudnn.handle, CUDNN_SOFTMAX_{kinds[recipe.name]},
                          CUDNN_SOFTMAX_MODE_INSTANCE, &one, cudnn.matrix, x,
                          &zero, cudnn.matrix, y) != CUDNN_STATUS_SUCCESS) {{
    return cudaErrorUnknown;
  }}
"""
  return Baseline(_CUDNN + _launch(recipe, body), ("cudnn",))


def row_reduction(recipe: Recipe) -> Baseline | None:
  """CUB for a single pass over each row, whatever its element is."""
  if len(recipe.passes) != 1:
    return None
  (step,) = recipe.passes
  number = rc.scalar_type(recipe)
  inputs = [a for a in recipe.arguments if a.kind != "output"]
  members = "\n".join(f"  {parameter(a)};" for a in inputs)
  names = ", ".join(a.name for a in inputs)
  value = rc.loaded(recipe, recipe.read, i="i", c="i % cols")
  value = f"{number} v = {value};"
  if recipe.activation != "{v}":
    value += f"\n    v = {recipe.activation.format(v='v')};"
  total = f"{number} {step.name} = total;"
  if step.finish:
    total += f"\n    {step.finish}"
  source = f"""\
struct Element {{
{members}
  __host__ __device__ {number} operator()(int64_t i) const {{
    {value}
    return {step.element.format(v="v")};
  }}
}};

struct Finish {{
  int64_t cols;
  __host__ __device__ {number} operator()({number} total) const {{
    {total}
    return {recipe.result};
  }}
}};

"""
  call = f"cub::DeviceSegmentedReduce::{step.combine.capitalize()}"
  body = f"""\
  static Workspace workspace;
  auto count = thrust::make_counting_iterator<int64_t>(0);
  auto element = thrust::make_transform_iterator(count, Element{{{names}}});
  auto start = thrust::make_transform_iterator(count, RowStart{{cols}});
  auto result = thrust::make_transform_output_iterator(y, Finish{{cols}});
  size_t bytes = 0;
  cudaError_t error = {call}(
      nullptr, bytes, element, result, (int)rows, start, start + 1, stream);
  if (error == cudaSuccess) error = workspace.grow(bytes);
  if (error != cudaSuccess) return error;
  error = {call}(
      workspace.memory, bytes, element, result, (int)rows, start, start + 1,
      stream);
  if (error != cudaSuccess) return error;
"""
  return Baseline(_CUB + source + _launch(recipe, body), ("cub", "thrust"))


def _cublas(recipe: Recipe, call: str, value: str, count: str) -> Baseline:
  """A product into y, and `value` of s for each of its `count` elements."""
  body = "  const float one = 1.0f, zero = 0.0f;\n" + _cublas_call(call)
  source = _CUBLAS
  if value not in ("s", "(s)"):
    names = ", ".join(a.name for a in recipe.arguments)
    parameters = ", ".join(map(parameter, recipe.arguments))
    source += f"""\
__global__ void epilogue({parameters}) {{
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i >= {count}) return;
  float s = y[i];
  y[i] = {value};
}}

"""
    body += f"""\
  epilogue<<<({count} + 255) / 256, 256, 0, stream>>>({names});
"""
  return Baseline(source + _launch(recipe, body), ("cublas",))


def _cublas_call(call: str) -> str:
  return f"""\
  static Cublas cublas;
  if (cublasSetStream(cublas.handle, stream) != CUBLAS_STATUS_SUCCESS ||
      {call} !=
          CUBLAS_STATUS_SUCCESS) {{
    return cudaErrorUnknown;
  }}
"""


def _launch(recipe: Recipe, body: str) -> str:
  return f"""\
{launch_signature(recipe.arguments)} {{
{body}  return cudaGetLastError();
}}
"""
