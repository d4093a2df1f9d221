// expect: [i + (i // 256) for i in range(n)]
// n: 1000
// A grid-stride loop with unrolling, and nested barriers in uniform loops.
#include <cstdint>

__global__ void kernel(const float* x, float* y, int64_t n) {
  const int64_t stride = (int64_t)gridDim.x * blockDim.x;
  int round = 0;
#pragma unroll 4
  for (int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
    y[i] = x[i] + round++;
  }
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  kernel<<<4, 64, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
