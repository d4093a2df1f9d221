// entry: 27
// like: the same tree with its barriers
// task: row_sum
// device: both
// expect: ok
// repetitions: 20
__global__ void row_sum(const float* x, float* y, int64_t cols) {
  __shared__ float part[128];
  int t = threadIdx.x;
  float s = 0.0f;
  for (int64_t c = t; c < cols; c += 128) s += x[blockIdx.x * cols + c];
  part[t] = s;
  __syncthreads();
  for (int step = 64; step > 0; step /= 2) {
    if (t < step) part[t] += part[t + step];
    __syncthreads();
  }
  if (t == 0) y[blockIdx.x] = part[0];
}

extern "C" int launch(const float* x, float* y, int64_t rows, int64_t cols,
                      cudaStream_t stream) {
  row_sum<<<rows, 128, 0, stream>>>(x, y, cols);
  return cudaGetLastError();
}
