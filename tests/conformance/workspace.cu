// expect: [3 * i if i < 32 else 0 for i in range(n)]
// Workspace from cudaMalloc, filled by memset and asynchronous copies.
#include <cstdint>

__global__ void kernel(const float* a, const float* b, float* y) {
  y[threadIdx.x] = a[threadIdx.x] + 2 * b[threadIdx.x];
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  const size_t bytes = n * sizeof(float);
  float *a = nullptr, *b = nullptr;
  cudaError_t error = cudaMalloc(&a, bytes);
  if (error == cudaSuccess) error = cudaMalloc((void**)&b, bytes);
  if (error != cudaSuccess) return error;
  cudaMemsetAsync(a, 0, bytes, stream);
  cudaMemsetAsync(b, 0, bytes, stream);
  cudaMemcpyAsync(a, x, bytes / 2, cudaMemcpyDeviceToDevice, stream);
  cudaMemcpyAsync(b, a, bytes, cudaMemcpyDefault, stream);
  kernel<<<1, (unsigned)n, 0, stream>>>(a, b, y);
  error = cudaGetLastError();
  cudaStreamSynchronize(stream);
  cudaFree(a);
  cudaFree(b);
  return error;
}
