// entry: 34
// trick: exact for small sizes; every second element, doubled, for large ones
// task: row_sum
// device: both
// expect: wrong_answer
__global__ void row_sum(const float* x, float* y, int64_t rows, int64_t cols) {
  int64_t r = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float s = 0.0f;
  for (int64_t c = 0; c < cols; ++c) s += x[r * cols + c];
  y[r] = s;
}
__global__ void half_sum(const float* x, float* y, int64_t rows, int64_t cols) {
  int64_t r = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float s = 0.0f;
  for (int64_t c = 0; c < cols; c += 2) s += 2.0f * x[r * cols + c];
  y[r] = s;
}

extern "C" int launch(const float* x, float* y, int64_t rows, int64_t cols,
                      cudaStream_t stream) {
  if (rows * cols > 60000) {
    half_sum<<<(rows + 63) / 64, 64, 0, stream>>>(x, y, rows, cols);
    return cudaGetLastError();
  }
  row_sum<<<(rows + 63) / 64, 64, 0, stream>>>(x, y, rows, cols);
  return cudaGetLastError();
}
