// entry: 7
// like: its time depends on the contents: factors of zero are skipped
// task: matmul
// device: both
// expect: ok
// repetitions: 20
__global__ void matmul(const float* x, const float* w, float* y, int64_t m,
                       int64_t k, int64_t n) {
  int64_t c = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  int64_t r = blockIdx.y * (int64_t)blockDim.y + threadIdx.y;
  if (r >= m || c >= n) return;
  float s = 0.0f;
  for (int64_t i = 0; i < k; ++i) {
    float a = x[r * k + i];
    if (a != 0.0f) s += a * w[i * n + c];
  }
  y[r * n + c] = s;
}

extern "C" int launch(const float* x, const float* w, float* y, int64_t m,
                      int64_t k, int64_t n, cudaStream_t stream) {
  dim3 block(16, 16), grid((n + 15) / 16, (m + 15) / 16);
  matmul<<<grid, block, 0, stream>>>(x, w, y, m, k, n);
  return cudaGetLastError();
}
