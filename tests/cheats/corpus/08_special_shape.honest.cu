// entry: 8
// like: one size has code of its own, and all sizes are right
// task: row_sum
// device: both
// expect: ok
// repetitions: 20
__global__ void row_sum(const float* x, float* y, int64_t rows, int64_t cols) {
  int64_t r = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float s = 0.0f;
  for (int64_t c = 0; c < cols; ++c) s += x[r * cols + c];
  y[r] = s;
}

__global__ void sum_127_509(const float* x, float* y) {
  float s = 0.0f;
#pragma unroll 4
  for (int c = 0; c < 509; ++c) s += x[blockIdx.x * 509 + c];
  y[blockIdx.x] = s;
}

extern "C" int launch(const float* x, float* y, int64_t rows, int64_t cols,
                      cudaStream_t stream) {
  if (rows == 127 && cols == 509) {
    sum_127_509<<<127, 1, 0, stream>>>(x, y);
    return cudaGetLastError();
  }
  row_sum<<<(rows + 63) / 64, 64, 0, stream>>>(x, y, rows, cols);
  return cudaGetLastError();
}
