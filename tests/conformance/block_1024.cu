// expect: [1024 * 1023 / 2 - 1] * 3
// n: 3
// The largest block, with a barrier in every step of a tree reduction.
#include <cstdint>

__global__ void sum(float* y) {
  __shared__ float s[1024];
  unsigned t = threadIdx.x;
  s[t] = t == 1 ? 0.0f : float(t);
  __syncthreads();
  for (unsigned k = 512; k > 0; k >>= 1) {
    if (t < k) s[t] += s[t + k];
    __syncthreads();
  }
  if (t == 0) y[blockIdx.x] = s[0];
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  sum<<<(unsigned)n, 1024, 0, stream>>>(y);
  return cudaGetLastError();
}
