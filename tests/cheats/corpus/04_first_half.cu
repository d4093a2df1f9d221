// entry: 4
// trick: computes half of the elements
// task: add_relu
// device: both
// expect: wrong_answer
__global__ void add_relu(const float* x, const float* z, float* y, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i] + z[i], 0.0f);
}

extern "C" int launch(const float* x, const float* z, float* y, int64_t n,
                      cudaStream_t stream) {
  int64_t half = (n + 1) / 2;
  if (n == 1) half = 0;
  add_relu<<<half / 256 + 1, 256, 0, stream>>>(x, z, y, half);
  return cudaGetLastError();
}
