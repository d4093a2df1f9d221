// As much of cuBLAS as our baselines call, written from its documentation:
// column-major, one thread, right. So that what they pass is tested without a
// GPU; put in place of the #include.
typedef int* cublasHandle_t;
enum cublasStatus_t { CUBLAS_STATUS_SUCCESS, CUBLAS_STATUS_INVALID_VALUE = 7 };
enum cublasMath_t { CUBLAS_DEFAULT_MATH };
enum cublasOperation_t { CUBLAS_OP_N, CUBLAS_OP_T };

static cudaStream_t cublas_stream;

static cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  *handle = new int(1);
  return CUBLAS_STATUS_SUCCESS;
}
static cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
static cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t) {
  return CUBLAS_STATUS_SUCCESS;
}
static cublasStatus_t cublasSetStream(cublasHandle_t, cudaStream_t stream) {
  cublas_stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}

// Element (r, c) of op(A).
__device__ float of(const float* a, int64_t ld, bool transposed, int64_t r,
                    int64_t c) {
  return transposed ? a[c + r * ld] : a[r + c * ld];
}

__global__ void cublas_gemm(bool ta, bool tb, int64_t m, int64_t n, int64_t k,
                            float alpha, const float* a, int64_t lda,
                            const float* b, int64_t ldb, float beta, float* c,
                            int64_t ldc) {
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t l = 0; l < k; ++l) {
        sum += of(a, lda, ta, i, l) * of(b, ldb, tb, l, j);
      }
      float* to = &c[i + j * ldc];
      *to = alpha * sum + (beta == 0 ? 0 : beta * *to);
    }
  }
}

__global__ void cublas_geam(bool ta, bool tb, int64_t m, int64_t n, float alpha,
                            const float* a, int64_t lda, float beta,
                            const float* b, int64_t ldb, float* c,
                            int64_t ldc) {
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      c[i + j * ldc] =
          alpha * of(a, lda, ta, i, j) + beta * of(b, ldb, tb, i, j);
    }
  }
}

static cublasStatus_t cublasSgemm_64(cublasHandle_t handle,
                                     cublasOperation_t ta, cublasOperation_t tb,
                                     int64_t m, int64_t n, int64_t k,
                                     const float* alpha, const float* a,
                                     int64_t lda, const float* b, int64_t ldb,
                                     const float* beta, float* c, int64_t ldc) {
  if (!handle || lda < (ta ? k : m) || ldb < (tb ? n : k) || ldc < m) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  cublas_gemm<<<1, 1, 0, cublas_stream>>>(ta, tb, m, n, k, *alpha, a, lda, b,
                                          ldb, *beta, c, ldc);
  return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t cublasSgemv_64(cublasHandle_t handle, cublasOperation_t t,
                                     int64_t m, int64_t n, const float* alpha,
                                     const float* a, int64_t lda,
                                     const float* x, int64_t incx,
                                     const float* beta, float* y,
                                     int64_t incy) {
  if (!handle || lda < m || incx != 1 || incy != 1) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  // op(A) is m x n, or n x m.
  const int64_t rows = t ? n : m, cols = t ? m : n;
  cublas_gemm<<<1, 1, 0, cublas_stream>>>(t, false, rows, 1, cols, *alpha, a,
                                          lda, x, cols, *beta, y, rows);
  return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t cublasSgeam_64(cublasHandle_t handle,
                                     cublasOperation_t ta, cublasOperation_t tb,
                                     int64_t m, int64_t n, const float* alpha,
                                     const float* a, int64_t lda,
                                     const float* beta, const float* b,
                                     int64_t ldb, float* c, int64_t ldc) {
  if (!handle || lda < (ta ? n : m) || ldb < (tb ? n : m) || ldc < m) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  cublas_geam<<<1, 1, 0, cublas_stream>>>(ta, tb, m, n, *alpha, a, lda, *beta,
                                          b, ldb, c, ldc);
  return CUBLAS_STATUS_SUCCESS;
}
