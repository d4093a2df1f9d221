// expect: [31 - i + 31 - i + 31 - i + 1 for i in range(n)]
// n: 32
// Shuffles of half, unsigned long long and bfloat16.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cstdint>

__global__ void kernel(float* y) {
  const unsigned all = 0xffffffffu;
  int lane = threadIdx.x, other = 31 - lane;
  float a = __half2float(__shfl_sync(all, __float2half(float(lane)), other));
  float b = __bfloat162float(
      __shfl_xor_sync(all, __float2bfloat16(float(lane)), 31));
  unsigned long long c =
      __shfl_sync(all, (unsigned long long)lane << 36 | 1ull, other);
  y[lane] = a + b + float(c >> 36) + float(c & 1);
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  kernel<<<1, 32, 0, stream>>>(y);
  return cudaGetLastError();
}
