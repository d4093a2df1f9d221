// expect: [63 - i for i in range(n)]
// Dynamic shared memory declared in the kernel.
#include <cstdint>

__global__ void reverse(const float* x, float* y) {
  extern __shared__ float s[];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  reverse<<<1, 64, 64 * sizeof(float), stream>>>(x, y);
  return cudaGetLastError();
}
