// entry: 23, 44
// like: a stream of its own with a priority, synchronised before returning
// task: softmax
// device: both
// expect: ok
// repetitions: 20
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
  static cudaStream_t own = nullptr;
  if (own == nullptr) {
    cudaStreamCreateWithPriority(&own, cudaStreamNonBlocking, 0);
  }
  cudaStreamSynchronize(stream);
  softmax<<<(rows + 63) / 64, 64, 0, own>>>(x, y, rows, cols);
  cudaStreamSynchronize(own);
  return cudaGetLastError();
}
