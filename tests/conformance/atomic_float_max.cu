// expect: [63, -63]
// n: 2
// The usual compare-and-swap loop and the integer trick for float maxima.
#include <cstdint>

__device__ float atomicMaxFloat(float* address, float value) {
  int* word = (int*)address;
  int old = *word, assumed;
  do {
    assumed = old;
    old = atomicCAS(word, assumed,
                    __float_as_int(fmaxf(value, __int_as_float(assumed))));
  } while (assumed != old);
  return __int_as_float(old);
}
__global__ void kernel(const float* x, float* y) {
  float v = float(threadIdx.x + 32 * blockIdx.x);
  atomicMaxFloat(&y[0], v);
  v = -v;
  if (v >= 0 && !signbit(v)) {
    atomicMin((int*)&y[1], __float_as_int(v));
  } else {
    atomicMax((unsigned int*)&y[1], __float_as_uint(v));
  }
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  cudaMemsetAsync(y, 0, n * sizeof(float), stream);
  kernel<<<2, 32, 0, stream>>>(x, y);
  return cudaGetLastError();
}
