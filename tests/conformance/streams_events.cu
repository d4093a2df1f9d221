// expect: [i + 3 for i in range(n)]
// A second stream ordered by events, and an elapsed time.
#include <cstdint>

__global__ void add(const float* x, float* y, float v) {
  y[threadIdx.x] = x[threadIdx.x] + v;
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  cudaStream_t other;
  cudaEvent_t first, second;
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  cudaEventCreate(&first);
  cudaEventCreate(&second);
  add<<<1, 64, 0, stream>>>(x, y, 1.0f);
  cudaEventRecord(first, stream);
  cudaStreamWaitEvent(other, first, 0);
  add<<<1, 64, 0, other>>>(y, y, 1.0f);
  cudaEventRecord(second, other);
  cudaEventSynchronize(second);
  float ms = -1;
  cudaEventElapsedTime(&ms, first, second);
  add<<<1, 64, 0, stream>>>(y, y, ms >= 0 && ms < 1e4f ? 1.0f : -1.0f);
  cudaEventDestroy(first);
  cudaEventDestroy(second);
  cudaStreamDestroy(other);
  return cudaGetLastError();
}
