// entry: 15
// like: tries a block that may be too large, then one that is not
// task: add_relu
// device: both
// expect: ok
// repetitions: 20
__global__ void add_relu(const float* x, const float* z, float* y, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i] + z[i], 0.0f);
}

extern "C" int launch(const float* x, const float* z, float* y, int64_t n,
                      cudaStream_t stream) {
  static int threads = 2048;
  for (; threads > 32; threads /= 2) {
    add_relu<<<(n + threads - 1) / threads, threads, 0, stream>>>(x, z, y, n);
    if (cudaGetLastError() == cudaSuccess) return 0;
  }
  return cudaErrorUnknown;
}
