// entry: 4
// like: two launches, each for one half
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
  int64_t half = n / 2, rest = n - half;
  if (half > 0) {
    add_relu<<<(half + 255) / 256, 256, 0, stream>>>(x, z, y, half);
  }
  add_relu<<<(rest + 255) / 256, 256, 0, stream>>>(x + half, z + half,
                                                   y + half, rest);
  return cudaGetLastError();
}
