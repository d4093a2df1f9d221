// expect: [13 + 100 + (1000 if i // 64 else 0) for i in range(n)]
// n: 128
// __syncthreads_count, _and and _or.
#include <cstdint>

__global__ void kernel(float* y) {
  int t = threadIdx.x;
  int r = __syncthreads_count(t % 5 == 0);
  if (__syncthreads_and(t < 64) && !__syncthreads_and(t != 63)) r += 100;
  if (__syncthreads_or(t == 7 && blockIdx.x == 1)) r += 1000;
  y[blockIdx.x * 64 + t] = r;
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  kernel<<<2, 64, 0, stream>>>(y);
  return cudaGetLastError();
}
