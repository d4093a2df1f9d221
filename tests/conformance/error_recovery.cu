// expect: [i + 2 for i in range(n)]
// A launch that is refused does not run, is reported, and is forgotten.
#include <cstdint>

__global__ void add(const float* x, float* y, float v) {
  y[threadIdx.x] = x[threadIdx.x] + v;
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  float v = 0;
  add<<<1, 2048, 0, stream>>>(x, y, 7.0f);
  if (cudaPeekAtLastError() == cudaErrorInvalidValue) v += 1;
  if (cudaGetLastError() != cudaSuccess && cudaGetLastError() == cudaSuccess) {
    v += 1;
  }
  add<<<1, 64, 0, stream>>>(x, y, v);
  return cudaGetLastError();
}
