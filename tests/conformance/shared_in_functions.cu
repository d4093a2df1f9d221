// expect: [496 + 2016 if i < 32 else 1520 + 2016 for i in range(n)]
// Shared memory of device functions, one array per instantiation.
#include <cstdint>

template <int N>
__device__ float group_sum(float v) {
  static __shared__ float s[64];
  const int t = threadIdx.x, first = t / N * N;
  s[t] = v;
  __syncthreads();
  float total = 0;
  for (int k = 0; k < N; ++k) total += s[first + k];
  return total;
}

__global__ void kernel(const float* x, float* y) {
  float narrow = group_sum<32>(x[threadIdx.x]);
  float wide = group_sum<64>(x[threadIdx.x]);
  y[threadIdx.x] = narrow + wide;
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  kernel<<<1, 64, 0, stream>>>(x, y);
  return cudaGetLastError();
}
