// entry: 15
// trick: a block too large; the error is taken and success returned
// task: add_relu
// device: both
// expect: launch_error wrong_answer
__global__ void add_relu(const float* x, const float* z, float* y, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i] + z[i], 0.0f);
}

extern "C" int launch(const float* x, const float* z, float* y, int64_t n,
                      cudaStream_t stream) {
  add_relu<<<1, 4096, 0, stream>>>(x, z, y, n);
  cudaGetLastError();
  return 0;
}
