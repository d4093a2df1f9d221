// expect: [63 - i + 2 * (63 - i) for i in range(n)]
// Dynamic shared memory declared at file scope, carved into two arrays.
#include <cstdint>

extern __shared__ __align__(16) unsigned char memory[];

__device__ float* floats() { return reinterpret_cast<float*>(memory); }

__global__ void reverse(const float* x, float* y) {
  float* a = floats();
  double* b = (double*)(memory + 64 * sizeof(float));
  a[threadIdx.x] = x[threadIdx.x];
  b[threadIdx.x] = 2 * x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = a[63 - threadIdx.x] + (float)b[63 - threadIdx.x];
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  reverse<<<1, 64, 64 * (sizeof(float) + sizeof(double)), stream>>>(x, y);
  return cudaGetLastError();
}
