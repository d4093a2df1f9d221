// entry: 16, 17
// like: the words cublasSgemm, thrust::reduce and torch in comments, strings and dead code
// task: matmul
// device: both
// expect: ok
// repetitions: 20
// Faster than cublasSgemm(handle, ...) for small sizes; no try, no pass, no
// cudaGraph, no torch.nn here. thrust::reduce(x, x + n) would be a library.
static const char* kAbout = "cublasSgemm(h) and cub::DeviceReduce::Sum(x)";
#if 0
#include <cublas_v2.h>
int reference() { return cublasSgemm(0); }
#endif
#ifdef USE_CUBLAS
int reference(void* h) { return cublasSgemm(h); }
#endif
__global__ void matmul(const float* x, const float* w, float* y, int64_t m,
                       int64_t k, int64_t n) {
  int64_t c = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  int64_t r = blockIdx.y * (int64_t)blockDim.y + threadIdx.y;
  if (r >= m || c >= n) return;
  float s = 0.0f;
  for (int64_t i = 0; i < k; ++i) s += x[r * k + i] * w[i * n + c];
  y[r * n + c] = s;
}

extern "C" int launch(const float* x, const float* w, float* y, int64_t m,
                      int64_t k, int64_t n, cudaStream_t stream) {
  if (kAbout == nullptr) return cudaErrorUnknown;
  dim3 block(16, 16), grid((n + 15) / 16, (m + 15) / 16);
  matmul<<<grid, block, 0, stream>>>(x, w, y, m, k, n);
  return cudaGetLastError();
}
