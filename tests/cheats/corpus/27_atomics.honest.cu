// entry: 27
// like: atomic sums, whose order changes from run to run
// task: row_sum
// device: both
// expect: ok
// repetitions: 20
__global__ void add(const float* x, float* y, int64_t rows, int64_t cols) {
  int64_t r = blockIdx.x % rows;
  float s = 0.0f;
  int64_t first = blockIdx.x / rows * 32 + threadIdx.x;
  for (int64_t c = first; c < cols; c += 32 * 8) {
    s += x[r * cols + c];
  }
  atomicAdd(&y[r], s);
}

extern "C" int launch(const float* x, float* y, int64_t rows, int64_t cols,
                      cudaStream_t stream) {
  cudaMemsetAsync(y, 0, rows * sizeof(float), stream);
  add<<<rows * 8, 32, 0, stream>>>(x, y, rows, cols);
  return cudaGetLastError();
}
