// entry: 17
// like: try and catch around a launch, both ways through own kernels
// task: add_relu
// device: both
// expect: ok
// repetitions: 20
#include <stdexcept>
__global__ void add_relu(const float* x, const float* z, float* y, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i] + z[i], 0.0f);
}

extern "C" int launch(const float* x, const float* z, float* y, int64_t n,
                      cudaStream_t stream) {
  try {
    if (n < 64) throw std::runtime_error("small");
    add_relu<<<(n + 255) / 256, 256, 0, stream>>>(x, z, y, n);
  } catch (const std::runtime_error&) {
    add_relu<<<(n + 31) / 32, 32, 0, stream>>>(x, z, y, n);
  }
  return cudaGetLastError();
}
