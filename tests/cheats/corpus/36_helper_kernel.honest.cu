// entry: 36
// like: a kernel that writes no output but what the next one needs
// task: softmax
// device: both
// expect: ok
// repetitions: 20
__global__ void maxima(const float* x, float* m, int64_t rows, int64_t cols) {
  int64_t r = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float v = -INFINITY;
  for (int64_t c = 0; c < cols; ++c) v = fmaxf(v, x[r * cols + c]);
  m[r] = v;
}
__global__ void softmax(const float* x, const float* top, float* y,
                        int64_t rows, int64_t cols) {
  int64_t r = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float m = top[r], s = 0.0f;
  for (int64_t c = 0; c < cols; ++c) s += expf(x[r * cols + c] - m);
  for (int64_t c = 0; c < cols; ++c) {
    y[r * cols + c] = expf(x[r * cols + c] - m) / s;
  }
}

extern "C" int launch(const float* x, float* y, int64_t rows, int64_t cols,
                      cudaStream_t stream) {
  float* top = nullptr;
  cudaError_t error = cudaMallocAsync(&top, rows * sizeof(float), stream);
  if (error != cudaSuccess) return error;
  maxima<<<(rows + 63) / 64, 64, 0, stream>>>(x, top, rows, cols);
  softmax<<<(rows + 63) / 64, 64, 0, stream>>>(x, top, y, rows, cols);
  cudaFreeAsync(top, stream);
  return cudaGetLastError();
}
