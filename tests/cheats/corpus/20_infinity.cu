// entry: 20
// trick: infinity everywhere: it swallows the tolerance
// task: add_relu
// device: both
// expect: nonfinite wrong_answer
__global__ void fill(float* y, int64_t n, float value) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = value;
}

extern "C" int launch(const float* x, const float* z, float* y, int64_t n,
                      cudaStream_t stream) {
  fill<<<(n + 255) / 256, 256, 0, stream>>>(y, n, INFINITY);
  return cudaGetLastError();
}
