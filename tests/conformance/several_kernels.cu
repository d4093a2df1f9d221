// expect: [(i + 1) * 2 - 3 for i in range(n)]
// Launches on one stream run in order.
#include <cstdint>

__global__ void add(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x] + 1;
}
__global__ void twice(float* y) { y[threadIdx.x] *= 2; }
static __global__ void less(float* y, float by) { y[threadIdx.x] -= by; }

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  const dim3 block(64);
  add<<<1, block, 0, stream>>>(x, y);
  twice<<<1, block, 0, stream>>>(y);
  for (int k = 0; k < 3; ++k) less<<<1, block, 0, stream>>>(y, 1.0f);
  return cudaGetLastError();
}
