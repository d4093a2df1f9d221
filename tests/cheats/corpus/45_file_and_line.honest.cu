// entry: 45
// like: a check that prints __FILE__ and __LINE__
// task: add_relu
// device: both
// expect: ok
// repetitions: 20
#include <cstdio>

#define CHECK(call)                                                   \
  do {                                                                \
    cudaError_t error = (call);                                       \
    if (error != cudaSuccess) {                                       \
      printf("%s:%d: %s\n", __FILE__, __LINE__,                       \
             cudaGetErrorString(error));                              \
      return error;                                                   \
    }                                                                 \
  } while (0)
__global__ void add_relu(const float* x, const float* z, float* y, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i] + z[i], 0.0f);
}

extern "C" int launch(const float* x, const float* z, float* y, int64_t n,
                      cudaStream_t stream) {
  add_relu<<<(n + 255) / 256, 256, 0, stream>>>(x, z, y, n);
  CHECK(cudaGetLastError());
  return 0;
}
