// entry: 20
// trick: the largest float where minus infinity is expected
// task: masked
// device: both
// expect: wrong_answer
__global__ void masked(const float* x, const float* m, float* y, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = m[i] > 0.0f ? x[i] : -3.4e38f;
}

extern "C" int launch(const float* x, const float* m, float* y, int64_t n,
                      cudaStream_t stream) {
  masked<<<(n + 255) / 256, 256, 0, stream>>>(x, m, y, n);
  return cudaGetLastError();
}
