// expect: [16383 - i for i in range(n)]
// More than 48 KiB of shared memory, after asking for it.
#include <cstdint>

__global__ void far(float* y, int n) {
  extern __shared__ float4 s[];
  float* values = &s[0].x;
  for (int i = threadIdx.x; i < 16384; i += blockDim.x) values[i] = i;
  __syncthreads();
  y[threadIdx.x] = values[16383 - threadIdx.x];
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  const int bytes = 16384 * sizeof(float);
  cudaError_t error = cudaFuncSetAttribute(
      far, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  if (error != cudaSuccess) return error;
  far<<<1, 64, bytes, stream>>>(y, (int)n);
  return cudaGetLastError();
}
