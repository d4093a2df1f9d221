// expect: [3 * (i + 10) if i < 32 else 3 * (i + 10) + 1 for i in range(n)]
// Lambdas in kernels, handed to kernels, and around launches.
#include <cstdint>

template <class F>
__global__ void map(const float* x, float* y, F f) {
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  auto shift = [&](auto v) { return v + 10; };
  y[i] = f(shift(x[i]));
}
__global__ void add(float* y) { y[threadIdx.x] += 1; }

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  float factor = 3.0f;
  map<<<2, 32, 0, stream>>>(x, y, [=] __device__(float v) { return factor * v; });
  auto add_from = [&](int offset) {
    add<<<1, 32, 0, stream>>>(y + offset);
    return cudaGetLastError();
  };
  return add_from(32);
}
