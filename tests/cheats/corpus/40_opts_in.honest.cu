// entry: 40
// like: asks for 64 KiB after opting in
// task: softmax
// device: both
// expect: ok
// repetitions: 20
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
  cudaError_t error = cudaFuncSetAttribute(
      softmax, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 << 10);
  if (error != cudaSuccess) return error;
  softmax<<<rows, 32, 64 << 10, stream>>>(x, y, cols);
  return cudaGetLastError();
}
