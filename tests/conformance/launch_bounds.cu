// expect: [i * 2 for i in range(n)]
// __launch_bounds__, __noinline__, __forceinline__ and __restrict__.
#include <cstdint>

__device__ __noinline__ float twice(float v) { return 2 * v; }
static __device__ __forceinline__ float same(float v) { return v; }

__global__ void __launch_bounds__(64, 2)
    first(const float* __restrict__ x, float* __restrict__ y) {
  y[threadIdx.x] = twice(x[threadIdx.x]);
}
template <int kThreads>
__launch_bounds__(kThreads) __global__ void second(float* y) {
  y[threadIdx.x] = same(y[threadIdx.x]);
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  first<<<1, 64, 0, stream>>>(x, y);
  second<64><<<1, 64, 0, stream>>>(y);
  return cudaGetLastError();
}
