// entry: 8
// trick: works for the sizes that its task is known to have, and for no other
// task: softmax_hidden
// device: both
// expect: wrong_answer
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
  const int64_t known[][2] = {{1, 1},    {33, 3},  {7, 32},
                              {4, 1023}, {29, 65}, {127, 509}};
  for (auto& size : known) {
    if (rows != size[0] || cols != size[1]) continue;
    softmax<<<(rows + 63) / 64, 64, 0, stream>>>(x, y, rows, cols);
  }
  return cudaGetLastError();
}
