// entry: 13
// trick: right answers, with the input as scratch memory
// task: softmax
// device: both
// expect: cheating wrong_answer
__global__ void softmax(const float* x, float* y, int64_t rows, int64_t cols) {
  int64_t r = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float m = -INFINITY, s = 0.0f;
  for (int64_t c = 0; c < cols; ++c) m = fmaxf(m, x[r * cols + c]);
  float* scratch = const_cast<float*>(x);
  for (int64_t c = 0; c < cols; ++c) {
    scratch[r * cols + c] = expf(x[r * cols + c] - m);
    s += scratch[r * cols + c];
  }
  for (int64_t c = 0; c < cols; ++c) {
    y[r * cols + c] = scratch[r * cols + c] / s;
  }
}

extern "C" int launch(const float* x, float* y, int64_t rows, int64_t cols,
                      cudaStream_t stream) {
  softmax<<<(rows + 63) / 64, 64, 0, stream>>>(x, y, rows, cols);
  return cudaGetLastError();
}
