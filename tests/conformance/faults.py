"""Kernels that must fail, each with its status and what its log must say.

They are given as the body of a kernel over 64 threads and what precedes it.
"""

KERNEL = """
%s
__global__ void kernel(const float* x, float* y, int n) {
  int t = threadIdx.x;
  %s
}
extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  kernel<<<1, %s, %s, stream>>>(x, y, (int)n);
  return cudaGetLastError();
}
"""

_WARP_SUM = "v += __shfl_xor_sync(0xffffffffu, v, 1);"


def _make(body: str, before: str = "", block: int = 64, shared: int = 0) -> str:
  return KERNEL % (before, body, block, shared)


# name: (source, status, part of the log)
FAULTS = {
  "asm": (
    _make('int r; asm("mov.u32 %0, %laneid;" : "=r"(r)); y[t] = r;'),
    "unsupported",
    "inline PTX",
  ),
  "wmma": (
    _make("y[t] = 0;", "#include <mma.h>\nusing namespace nvcuda;"),
    "unsupported",
    "tensor cores",
  ),
  "cub": (_make("y[t] = 0;", "#include <cub/cub.cuh>"), "unsupported", "CUB"),
  "thrust": (
    _make("y[t] = 0;", "#include <thrust/sort.h>"),
    "unsupported",
    "Thrust",
  ),
  "grid_sync": (
    _make(
      "cooperative_groups::this_grid().sync(); y[t] = 0;",
      "#include <cooperative_groups.h>",
    ),
    "unsupported",
    "grid-wide",
  ),
  "dynamic_parallelism": (
    _make(
      "if (t == 0) child<<<1, 1>>>(y);",
      "__global__ void child(float* y) { y[0] = 0; }",
    ),
    "unsupported",
    "dynamic parallelism",
  ),
  "divergent_barriers": (
    _make("if (t < 32) __syncthreads();\nelse __syncthreads();\ny[t] = 0;"),
    "runtime_error",
    "divergent barrier",
  ),
  "barrier_against_shuffle": (
    _make(
      f"float v = t;\nif (t == 3) __syncthreads();\n{_WARP_SUM}\ny[t] = v;"
    ),
    "runtime_error",
    "divergent barrier",
  ),
  "lane_outside_its_mask": (
    _make("y[t] = __shfl_sync(0xffffu, t, 0);"),
    "runtime_error",
    "mask does not name it",
  ),
  "trap": (_make("if (t == 5) __trap(); y[t] = 0;"), "runtime_error", "__trap"),
  "assert": (
    _make("assert(t < 60);\ny[t] = 0;", "#include <cassert>"),
    "runtime_error",
    "t < 60",
  ),
  "block_of_2048": (
    _make("y[t] = 0;", block=2048),
    "launch_error",
    "cudaErrorInvalidValue",
  ),
  "empty_block": (
    _make("y[t] = 0;", block=0),
    "launch_error",
    "cudaErrorInvalidValue",
  ),
  "shared_not_asked_for": (
    _make("y[t] = 0;", shared=49153),
    "launch_error",
    "cudaErrorInvalidValue",
  ),
  "far_out_of_bounds": (
    _make("y[t + (1ll << 40)] = 0;"),
    "runtime_error",
    "",
  ),
  "null_pointer": (
    _make("((float*)nullptr)[t] = x[t];"),
    "runtime_error",
    "",
  ),
  "endless_recursion": (
    _make("y[t] = down(n);", "__device__ int down(int v);")
    + "__device__ __noinline__ int down(int v) {\n"
    "  volatile int a[64]; a[v & 63] = v; return down(v + 1) + a[v & 31];\n}\n",
    "runtime_error",
    "",
  ),
  "undeclared": (_make("y[t] = z[t];"), "compile_error", "'z'"),
}
