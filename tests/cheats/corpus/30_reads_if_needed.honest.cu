// entry: 30
// like: does not read the second factor where the first is zero
// task: mul
// device: both
// expect: ok
// repetitions: 20
__global__ void mul(const float* x, const float* z, float* y, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  y[i] = v == 0.0f ? v : v * z[i];
}

extern "C" int launch(const float* x, const float* z, float* y, int64_t n,
                      cudaStream_t stream) {
  mul<<<(n + 255) / 256, 256, 0, stream>>>(x, z, y, n);
  return cudaGetLastError();
}
