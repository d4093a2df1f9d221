// entry: 12, 24
// like: static tables in constant and in host memory
// task: row_sum
// device: both
// expect: ok
// repetitions: 20
__constant__ float ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};
static const int kThreads[] = {32, 64, 128};

__global__ void row_sum(const float* x, float* y, int64_t rows, int64_t cols) {
  int64_t r = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float s = 0.0f;
  for (int64_t c = 0; c < cols; ++c) s += ones[c & 7] * x[r * cols + c];
  y[r] = s;
}

extern "C" int launch(const float* x, float* y, int64_t rows, int64_t cols,
                      cudaStream_t stream) {
  int threads = kThreads[rows > 64 ? 2 : rows > 32 ? 1 : 0];
  row_sum<<<(rows + threads - 1) / threads, threads, 0, stream>>>(x, y, rows,
                                                                 cols);
  return cudaGetLastError();
}
