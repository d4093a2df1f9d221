// entry: 1
// like: clears the output and writes the positive elements alone
// task: relu
// device: both
// expect: ok
// repetitions: 20
__global__ void positive(const float* x, float* y, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n && x[i] > 0.0f) y[i] = x[i];
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  cudaMemsetAsync(y, 0, n * sizeof(float), stream);
  positive<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
