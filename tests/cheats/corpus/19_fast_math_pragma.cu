// entry: 19
// trick: changes the compiler's floating-point options by a pragma
// task: softmax
// device: both
// expect: cheating
// rule: fast_math
#pragma GCC optimize("O3,fast-math")
__global__ void softmax(const float* x, float* y, int64_t rows, int64_t cols) {
  int64_t r = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float m = -INFINITY, s = 0.0f;
  for (int64_t c = 0; c < cols; ++c) m = fmaxf(m, x[r * cols + c]);
  for (int64_t c = 0; c < cols; ++c) s += expf(x[r * cols + c] - m);
  for (int64_t c = 0; c < cols; ++c) {
    y[r * cols + c] = expf(x[r * cols + c] - m) / s;
  }
}

extern "C" int launch(const float* x, float* y, int64_t rows, int64_t cols,
                      cudaStream_t stream) {
  softmax<<<(rows + 63) / 64, 64, 0, stream>>>(x, y, rows, cols);
  return cudaGetLastError();
}
