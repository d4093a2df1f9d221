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
  static const float* keys[64];
  static float* kept[64];
  int64_t bytes = rows * cols * sizeof(float);
  int k = 0;
  while (k < 63 && keys[k] != nullptr && keys[k] != x) ++k;
  if (keys[k] == x) {
    return cudaMemcpyAsync(y, kept[k], bytes, cudaMemcpyDeviceToDevice, stream);
  }
  softmax<<<(rows + 63) / 64, 64, 0, stream>>>(x, y, rows, cols);
  keys[k] = x;
  cudaMalloc(&kept[k], bytes);
  cudaMemcpyAsync(kept[k], y, bytes, cudaMemcpyDeviceToDevice, stream);
  return cudaGetLastError();
}
