"""The fault of a failing kernel, in one line that names it."""

import re

import numpy as np
import pytest

from jaxkern.evaluator import Evaluator, Request
from jaxkern.tasks.bundle import write_bundle

from .conftest import KERNEL, make_task

LAUNCH = "kernel<<<1, 64, 0, stream>>>(x, y, (int)n);"
SOURCE = """%s
__global__ void kernel(const float* x, float* y, int n) {
  int t = threadIdx.x;
  %s
}
extern "C" int launch(const float* x, float* y, int64_t n, float a,
                      cudaStream_t stream) {
  %s
  return cudaGetLastError();
}
"""
LOAD = "__device__ float load(const float* p) { return __ldg(p); }"

# name: (before, body from line 4 on, launch, what the diagnosis must say)
FAULTS = {
  "read_past_the_end": (
    "",
    "if (t < n) y[t] = x[t + 1];",
    LAUNCH,
    r"kernel.cu:4: out-of-bounds read of x\[5\] \(x has 5 elements\)"
    r" by thread \(4,0,0\) of block \(0,0,0\), in case n=5",
  ),
  "write_before_the_beginning": (
    "",
    "if (t < n) y[t - 1] = x[t];",
    LAUNCH,
    r"out-of-bounds write of y\[-1\] .* by thread \(0,0,0\)",
  ),
  "read_in_a_helper": (
    LOAD,
    "y[t % 5] = load(x + 100);",
    LAUNCH,
    r"kernel.cu:1: out-of-bounds read of x\[100\]",
  ),
  "shared_past_the_end": (
    "",
    "__shared__ float s[8][4];\n  float* p = &s[0][0];\n  p[t] = t;",
    LAUNCH,
    r"kernel.cu:6: out-of-bounds write of s\[8\]\[0\] \(shared\)"
    r" \(s has 8 x 4 elements\) by thread \(32,0,0\)",
  ),
  "dynamic_shared_past_the_end": (
    "extern __shared__ float d[];",
    "d[t] = t;",
    "kernel<<<1, 64, 64, stream>>>(x, y, (int)n);",
    r"out-of-bounds write of d\[16\] \(shared\) \(d has 16 elements\)",
  ),
  "workspace_past_the_end": (
    "",
    "y[t] = 1;",
    "float* w;\n  cudaMalloc(&w, 128);\n"
    "  kernel<<<1, 64, 0, stream>>>(x, w, 0);\n  cudaFree(w);",
    r"kernel.cu:4: .* byte 128 of the 128-byte buffer allocated at line 9",
  ),
  "local_array_past_the_end": (
    "",
    "float a[4];\n  for (int i = 0; i <= 4; ++i) a[i] = i;\n"
    "  if (t < n) y[t] = a[t % 4];",
    LAUNCH,
    r"kernel.cu:5: index 4 is outside float \[4\]",
  ),
  "after_free": (
    "",
    "y[t] = 1;",
    "float* w;\n  cudaMalloc(&w, 256);\n  cudaFree(w);\n"
    "  kernel<<<1, 64, 0, stream>>>(x, w, 0);",
    r"use of byte 0 of the 256-byte buffer allocated at line 9 after cudaFree",
  ),
  "null_pointer": (
    "",
    "y[t % 5] = ((const float*)nullptr)[t];",
    LAUNCH,
    "kernel.cu:4: read through a null pointer",
  ),
  "memset_too_long": (
    "",
    "y[t % 5] = 1;",
    "cudaMemsetAsync(y, 0, 8 * n, stream);",
    r"kernel.cu:8: cudaMemset writes 40 bytes from y\[0\] on, but only 20",
  ),
  "host_code_reads_device_memory": (
    "",
    "y[t % 5] = 1;",
    "if (x[0] > 0) " + LAUNCH,
    r"kernel.cu:8: host code reads device memory: x\[0\]",
  ),
  "write_to_an_input": (
    "",
    "((float*)x)[t % 5] = t;",
    LAUNCH,
    r"kernel.cu:4: write to x\[0\], an input, by thread \(0,0,0\)",
  ),
  "misaligned": (
    "",
    "if (t == 0) y[0] = ((const float4*)(x + 1))->x + "
    "((const float2*)(x + 1))->y;\n"
    "  float2 v = *(const float2*)(x + 1);\n  if (t == 0) y[1] = v.x;",
    LAUNCH,
    r"kernel.cu:5: misaligned 8-byte read of x\[1..2\]",
  ),
  "race_without_barrier": (
    "",
    "__shared__ float s[64];\n  s[t] = t;\n  y[t % 5] = s[63 - t];",
    LAUNCH,
    r"kernel.cu:5: race on s\[32\] \(shared\): read by thread \(31,0,0\) at"
    r" line 6, written by thread \(32,0,0\) at line 5, no barrier between",
  ),
  "race_within_a_warp": (
    "",
    "__shared__ float s[64];\n  s[t] = t;\n  __syncthreads();\n"
    "  for (int o = 16; o > 0; o /= 2)\n"
    "    if (t % 32 < o) s[t] += s[t + o];\n  if (t == 0) y[0] = s[0];",
    LAUNCH,
    r"kernel.cu:8: race on s\[\d+\] .* no barrier or __syncwarp between",
  ),
  "race_on_global_memory": (
    "",
    "y[t / 16] = t;",
    LAUNCH,
    r"race on y\[0\]: written by thread \(0,0,0\) at line 4, written by thread"
    r" \(1,0,0\) at line 4",
  ),
  "race_between_blocks": (
    "",
    "y[t % 5] = blockIdx.x;",
    "kernel<<<3, 5, 0, stream>>>(x, y, (int)n);",
    r"written by thread \(0,0,0\) of block \(0,0,0\) at line 4, written by"
    r" thread \(0,0,0\) of block \(1,0,0\) .* blocks run in any order",
  ),
  "race_with_an_atomic": (
    "__device__ int total;",
    "if (t == 0) total = 0;\n  atomicAdd(&total, 1);\n  __syncthreads();\n"
    "  y[t % 5] = total;",
    LAUNCH,
    r"kernel.cu:5: race on total: written by thread \(0,0,0\) at line 4,"
    r" updated atomically by thread \(1,0,0\) at line 5",
  ),
  "atomic_without_barrier": (
    "",
    "__shared__ int c;\n  if (t == 0) c = 0;\n  __syncthreads();\n"
    "  atomicAdd(&c, 1);\n  if (t < n) y[t] = c;",
    LAUNCH,
    r"race on c \(shared\): .*updated atomically",
  ),
  "uninitialised_shared": (
    "",
    "__shared__ float s[64];\n  if (t < 32) s[t] = t;\n  __syncthreads();\n"
    "  y[t % 5] = s[t] * 0;",
    LAUNCH,
    r"kernel.cu:7: read of s\[63\] \(shared\), which no thread of the block",
  ),
  "uninitialised_output": (
    "",
    "if (t < n) y[t] += x[t];",
    LAUNCH,
    r"kernel.cu:4: read of y\[0\], which nothing has written yet",
  ),
  "overflow": (
    "",
    "int i = (t + 1) * 1500000000;\n  if (t < n) y[t] = i;",
    LAUNCH,
    r"kernel.cu:4: integer overflow: 2 \* 1500000000 does not fit in int, in"
    r" thread \(1,0,0\)",
  ),
  "overflow_that_leads_astray": (
    "",
    "int i = (t + 1) * 1500000000;\n  if (t < n) y[i / 1000000000] = y[i];",
    LAUNCH,
    r"out-of-bounds|far outside",
  ),
  "divergent_barrier": (
    "",
    "if (t < 32) {\n    if (t < 5) __syncthreads();\n    __syncwarp();\n  }",
    LAUNCH,
    r"kernel.cu:5: divergent barrier: .* 5 threads \(0-4\) at __syncthreads"
    r" \(line 5\) and 27 threads \(5-31\) at a warp operation \(line 6\)",
  ),
  "assertion": (
    "#include <assert.h>",
    "assert(t < 60);",
    LAUNCH,
    r"assertion failed at line 4: t < 60, in thread \(60,0,0\) of block",
  ),
  "half_past_the_end": (
    "#include <cuda_fp16.h>",
    "y[0] = float(((const __half*)x)[1000]);",
    LAUNCH,
    r"kernel.cu:4: out-of-bounds read of x\[500\]",
  ),
}

# Bodies without a fault, which compute something else than asked for.
HONEST = {
  "equal_values_in_one_place": "y[t / 16] = n;",
  "broadcast_through_shared": (
    "__shared__ int s;\n  s = n;\n  __syncthreads();\n  y[t % 5] = s;"
  ),
  "warp_reduction_through_shared": (
    "__shared__ volatile float s[64];\n  s[t] = 1;\n  __syncwarp();\n"
    "  for (int o = 16; o > 0; o /= 2) {\n"
    "    float v = t % 32 < o ? s[t + o] : 0;\n    __syncwarp();\n"
    "    s[t] = s[t] + v;\n    __syncwarp();\n  }\n"
    "  if (t == 0) y[0] = s[0];"
  ),
  "shuffles_order_lanes": (
    "__shared__ float s[64];\n  s[t] = t;\n"
    "  float v = __shfl_sync(0xffffffffu, t, 0);\n"
    "  float w = s[t ^ 1] + v;\n  if (t == 0) y[0] = w;"
  ),
  "early_exit": (
    "if (t >= n) return;\n  __shared__ float s[64];\n  s[t] = x[t];\n"
    "  __syncthreads();\n  y[t] = s[0] + 1;"
  ),
  "neighbouring_bytes": (
    "__shared__ char s[64];\n  s[t] = t;\n  __syncthreads();\n"
    "  y[t % 5] = s[t % 5] + 1.0f;"
  ),
  "ticket": (
    "__shared__ int last;\n  __shared__ int count;\n  __shared__ float s[64];\n"
    "  if (t == 0) count = 0;\n  __syncthreads();\n  s[t] = 1;\n"
    "  __threadfence_block();\n  if (atomicAdd(&count, 1) == 63) {\n"
    "    for (int i = 0; i < 64; ++i) y[0] = s[i];\n  }"
  ),
  "local_memory_by_pointer": (
    "float a[4] = {1, 2, 3, 4};\n  float* p = a;\n  p[t % 4] = 9;\n"
    "  y[t % 5] = 5;"
  ),
  "two_launches": "if (t < n) y[t] = t + n;",
  "workspace_kept_by_the_host": "if (t < n) y[t] = x[t] + 5;",
  "managed_memory": "if (t < n) y[t] = x[t] + 5;",
  "flat_index_into_a_plane": (
    "__shared__ float s[8][8];\n  s[0][t] = t;\n  __syncthreads();\n"
    "  if (t < n) y[t] = s[0][63 - t];"
  ),
  "scan_with_two_buffers": (
    "__shared__ float s[2][64];\n  int from = 0;\n  s[0][t] = 1;\n"
    "  __syncthreads();\n  for (int o = 1; o < 64; o *= 2) {\n"
    "    s[1 - from][t] = s[from][t] + (t >= o ? s[from][t - o] : 0);\n"
    "    from = 1 - from;\n    __syncthreads();\n  }\n"
    "  if (t < n) y[t] = s[from][t];"
  ),
  "lock": (
    "if (t == 0) {\n    while (atomicCAS(&lock, 0, 1) != 0) {}\n"
    "    total = total + 1;\n    __threadfence();\n"
    "    atomicExch(&lock, 0);\n    if (blockIdx.x == 0) y[0] = n;\n  }"
  ),
  "flag_of_the_block_before": (
    "if (t == 0) {\n    int b = blockIdx.x;\n"
    "    while (b > 0 && ((volatile int*)flags)[b - 1] == 0) {}\n"
    "    sums[b] = b > 0 ? sums[b - 1] + 1 : 1;\n    __threadfence();\n"
    "    ((volatile int*)flags)[b] = 1;\n    if (b == 2) y[0] = sums[2];\n  }"
  ),
  "last_block_sums_up": (
    "__shared__ bool last;\n  if (t == 0) {\n    sums[blockIdx.x] = 1;\n"
    "    __threadfence();\n    last = atomicAdd(&lock, 1) == 2;\n  }\n"
    "  __syncthreads();\n  if (last && t == 1) {\n"
    "    y[0] = sums[0] + sums[1] + sums[2];\n    lock = 0;\n  }"
  ),
  "own_elements_in_place": (
    "int i = blockIdx.x * 64 + t;\n  if (i < n) y[i] = x[i];\n"
    "  if (i < n) y[i] = y[i] * 5;"
  ),
}
# Of those that are not launched with three blocks.
HONEST_LAUNCHES = {
  "two_launches": LAUNCH + "\n  " + LAUNCH,
  "workspace_kept_by_the_host": (
    "static thread_local float* w = nullptr;\n"
    "  if (!w) cudaMalloc(&w, 256);\n  cudaMemsetAsync(w, 0, 256, stream);\n"
    "  kernel<<<1, 64, 0, stream>>>(w, y, (int)n);"
  ),
  "managed_memory": (
    "float* m;\n  cudaMallocManaged(&m, 256);\n"
    "  for (int i = 0; i < 64; ++i) m[i] = 4;\n"
    "  kernel<<<1, 64, 0, stream>>>(m, y, (int)n);\n"
    "  cudaDeviceSynchronize();\n  m[0] += 1;\n  cudaFree(m);"
  ),
}
GLOBALS = "__device__ int lock, flags[3];\n__device__ float sums[3], total;"


@pytest.fixture(scope="module")
def diagnoses(task, tmp_path_factory):
  """The results of all kernels above, by name."""
  directory = tmp_path_factory.mktemp("diagnosis")
  bundle = directory / "bundle"
  write_bundle(task, bundle)
  sources = {
    name: SOURCE % (before, body, launch)
    for name, (before, body, launch, _) in FAULTS.items()
  }
  three_blocks = LAUNCH.replace("<1,", "<3,")
  sources |= {
    name: SOURCE % (GLOBALS, body, HONEST_LAUNCHES.get(name, three_blocks))
    for name, body in HONEST.items()
  }
  with Evaluator(device="cpu", cache_dir=directory / "cache") as evaluator:
    results = evaluator.evaluate(
      [Request(str(bundle), s, diagnose=True) for s in sources.values()]
    )
  return dict(zip(sources, results, strict=True))


@pytest.mark.parametrize("name", FAULTS)
def test_fault_is_named_with_line_buffer_and_thread(diagnoses, name):
  result = diagnoses[name]
  assert result.status != "ok"
  assert re.search(FAULTS[name][3], result.diagnosis), result.diagnosis
  assert "\n" not in result.diagnosis


@pytest.mark.parametrize("name", HONEST)
def test_nothing_is_found_in_a_kernel_that_is_only_wrong(diagnoses, name):
  result = diagnoses[name]
  assert (result.status, result.diagnosis) == ("wrong_answer", ""), result.log


def test_right_kernel_and_kernel_without_request_have_no_diagnosis(
  evaluator, task
):
  wrong = KERNEL.replace("y[i] = a * x[i]", "y[i] = x[i + 1]")
  right, unasked, asked = evaluator.evaluate(
    [
      Request(task, KERNEL, diagnose=True),
      Request(task, wrong),
      Request(task, wrong, diagnose=True),
    ]
  )
  assert (right.status, right.diagnosis) == ("ok", "")
  assert (unasked.status, unasked.diagnosis) == (asked.status, "")
  assert "out-of-bounds read of x[5]" in asked.diagnosis
  assert asked.to_dict()["diagnosis"] == asked.diagnosis


def test_an_endless_kernel_is_found_where_it_still_runs(evaluator, task):
  wait = (
    "__shared__ volatile int ready;\n  if (i == 0) ready = 0;\n"
    "  if (i == 0) while (!ready);\n  if (i == 1) ready = 1;"
  )
  wrong = KERNEL.replace("if (i < n) y[i] = a * x[i];", wait)
  result = evaluator.evaluate(
    [Request(task, wrong, run_timeout_s=2, diagnose=True)]
  )[0]
  assert result.status == "timeout"
  assert re.match(
    r"kernel.cu:6: still running, at a read of ready \(shared\) by"
    r" thread \(0,0,0\) of block",
    result.diagnosis,
  ), result.diagnosis


def test_another_compiler_than_gcc_is_named(task, tmp_path):
  other = tmp_path / "other"
  other.write_text(
    '#!/bin/sh\n[ "$1" = --version ] && exec echo clang version 19\n'
    'exec g++ "$@"\n'
  )
  other.chmod(0o755)
  wrong = KERNEL.replace("a * x[i]", "x[i + 9]")
  with Evaluator(
    compiler=str(other), cache_dir=tmp_path / "cache"
  ) as evaluator:
    result = evaluator.evaluate([Request(task, wrong, diagnose=True)])[0]
  assert result.status == "wrong_answer"
  assert result.diagnosis == (
    "no diagnosis: compiler: the checker needs g++, found clang version 19"
  )


def test_the_smallest_case_with_a_fault_is_named(evaluator):
  task = make_task(np.float32(0.25))
  wrong = KERNEL.replace("a * x[i]", "n > 9 ? x[i + n] : 0")
  result = evaluator.evaluate([Request(task, wrong, diagnose=True)])[0]
  assert "x[70]" in result.diagnosis
  assert result.diagnosis.endswith("in case n=70, a=3.0"), result.diagnosis
