// expect: [2 * i + 1 for i in range(n)]
// n: 1000
// A grid whose last block is not full.
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void affine(const float* __restrict__ x, float* __restrict__ y,
                       int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.0f * x[i] + 1.0f;
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  affine<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
