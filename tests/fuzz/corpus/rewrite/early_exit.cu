// expect: [i - 1 if 0 < i < 40 else i for i in range(n)]
// Threads that return before a barrier are not waited for.
#include <cstdint>

__global__ void shift(const float* x, float* y, int count) {
  __shared__ float s[64];
  int t = threadIdx.x;
  y[t] = x[t];
  if (t >= count) return;
  s[t] = x[t];
  __syncthreads();
  if (t > 0) y[t] = s[t - 1];
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  shift<<<1, 64, 0, stream>>>(x, y, 40);
  return cudaGetLastError();
}
