// entry: 26, 37
// like: includes of every allowed kind; the others in comments, strings and dead code
// task: add_relu
// device: both
// expect: ok
// repetitions: 20
#include <cuda_runtime.h>
#include <math.h>

#include <cstdint>
#include <cstdio>
#include "cuda_fp16.h"
#define HALF_HEADER <cuda_fp16.h>
#include HALF_HEADER
#if defined(__has_include) && __has_include(<cuda_bf16.h>)
#include <cuda_bf16.h>
#endif
#if 0
#include "/usr/local/cuda/include/cuda_runtime.h"
asm(".incbin \"/etc/passwd\"");
#endif
// #include "/etc/passwd"   __attribute__((constructor))   #line 7
static const char* kText = "#include </etc/passwd> asm(\".incbin\") \
#pragma GCC optimize(\"Ofast\")";
static const char* kRaw = R"(
#include "/etc/passwd"
#pragma weak a = b
#line 7
)";
__global__ void add_relu(const float* x, const float* z, float* y, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i] + z[i], 0.0f);
}

extern "C" int launch(const float* x, const float* z, float* y, int64_t n,
                      cudaStream_t stream) {
  if (kText == kRaw) return cudaErrorUnknown;
  add_relu<<<(n + 255) / 256, 256, 0, stream>>>(x, z, y, n);
  return cudaGetLastError();
}
