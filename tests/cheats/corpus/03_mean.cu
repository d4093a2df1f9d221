// entry: 3
// trick: writes the mean of the answers: 1 / cols
// task: softmax
// device: both
// expect: wrong_answer
__global__ void fill(float* y, int64_t n, float value) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = value;
}

extern "C" int launch(const float* x, float* y, int64_t rows, int64_t cols,
                      cudaStream_t stream) {
  int64_t n = rows * cols;
  fill<<<(n + 255) / 256, 256, 0, stream>>>(y, n, 1.0f / cols);
  return cudaGetLastError();
}
