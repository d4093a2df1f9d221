// entry: 16
// trick: calls cuBLAS
// task: matmul
// device: both
// expect: cheating
// rule: calls_library
#include <cublas_v2.h>

extern "C" int launch(const float* x, const float* w, float* y, int64_t m,
                      int64_t k, int64_t n, cudaStream_t stream) {
  static cublasHandle_t handle = nullptr;
  if (handle == nullptr) cublasCreate(&handle);
  cublasSetStream(handle, stream);
  const float one = 1.0f, zero = 0.0f;
  return (int)cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, w, n,
                          x, k, &zero, y, n);
}
