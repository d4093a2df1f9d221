// entry: 27
// trick: threads of several blocks add without atomics
// task: row_sum
// device: cuda
// expect: wrong_answer
__global__ void add(const float* x, float* y, int64_t rows, int64_t cols) {
  int64_t r = blockIdx.x % rows;
  int64_t first = blockIdx.x / rows * 32 + threadIdx.x;
  for (int64_t c = first; c < cols; c += 32 * 8) {
    y[r] += x[r * cols + c];
  }
}

extern "C" int launch(const float* x, float* y, int64_t rows, int64_t cols,
                      cudaStream_t stream) {
  cudaMemsetAsync(y, 0, rows * sizeof(float), stream);
  add<<<rows * 8, 32, 0, stream>>>(x, y, rows, cols);
  return cudaGetLastError();
}
