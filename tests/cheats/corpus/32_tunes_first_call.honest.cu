// entry: 32, 39
// like: tries two configurations in its first call and keeps the faster one
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
  static int best = 0;
  if (best == 0) {
    cudaEvent_t start, stop;
    cudaEventCreate(&start);
    cudaEventCreate(&stop);
    float least = 1e30f;
    for (int threads = 32; threads <= 128; threads *= 4) {
      cudaEventRecord(start, stream);
      softmax<<<(rows + threads - 1) / threads, threads, 0, stream>>>(
          x, y, rows, cols);
      cudaEventRecord(stop, stream);
      cudaEventSynchronize(stop);
      float ms = 0.0f;
      cudaEventElapsedTime(&ms, start, stop);
      if (ms < least) least = ms, best = threads;
    }
    cudaEventDestroy(start);
    cudaEventDestroy(stop);
  }
  softmax<<<(rows + best - 1) / best, best, 0, stream>>>(x, y, rows, cols);
  return cudaGetLastError();
}
