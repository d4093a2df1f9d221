// entry: 40
// trick: asks for 300 KiB of shared memory and hides the error
// task: softmax
// device: both
// expect: launch_error wrong_answer
__global__ void softmax(const float* x, float* y, int64_t cols) {
  extern __shared__ float row[];
  const float* in = x + blockIdx.x * cols;
  for (int64_t c = threadIdx.x; c < cols; c += 32) row[c] = in[c];
  __syncwarp();
  float m = -INFINITY, s = 0.0f;
  for (int64_t c = 0; c < cols; ++c) m = fmaxf(m, row[c]);
  for (int64_t c = 0; c < cols; ++c) s += expf(row[c] - m);
  for (int64_t c = threadIdx.x; c < cols; c += 32) {
    y[blockIdx.x * cols + c] = expf(row[c] - m) / s;
  }
}

extern "C" int launch(const float* x, float* y, int64_t rows, int64_t cols,
                      cudaStream_t stream) {
  softmax<<<rows, 32, 300 << 10, stream>>>(x, y, cols);
  cudaGetLastError();
  return 0;
}
