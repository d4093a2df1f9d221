// entry: 6
// trick: keeps the answer and copies it when the pointers come again
// task: softmax
// device: both
// expect: cheating wrong_answer
// repetitions: 20
// needs: protocol
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
  static const float* key = nullptr;
  static float* kept = nullptr;
  static int64_t size = 0;
  int64_t bytes = rows * cols * sizeof(float);
  if (x == key && bytes == size) {
    return cudaMemcpyAsync(y, kept, bytes, cudaMemcpyDeviceToDevice, stream);
  }
  softmax<<<(rows + 63) / 64, 64, 0, stream>>>(x, y, rows, cols);
  if (kept != nullptr) cudaFree(kept);
  cudaMalloc(&kept, bytes);
  cudaMemcpyAsync(kept, y, bytes, cudaMemcpyDeviceToDevice, stream);
  key = x, size = bytes;
  return cudaGetLastError();
}
