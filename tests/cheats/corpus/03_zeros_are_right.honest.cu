// entry: 3
// like: an output of zeros that is right
// task: dead_relu
// device: both
// expect: ok
// repetitions: 20
__global__ void relu(const float* x, float* y, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
