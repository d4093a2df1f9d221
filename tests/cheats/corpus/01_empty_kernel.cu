// entry: 1
// trick: a kernel whose condition is never true
// task: add_relu
// device: both
// expect: wrong_answer
__global__ void nothing(float* y, int64_t n) {
  if (n < 0) y[0] = 0.0f;
}

extern "C" int launch(const float* x, const float* z, float* y, int64_t n,
                      cudaStream_t stream) {
  nothing<<<1, 32, 0, stream>>>(y, n);
  return cudaGetLastError();
}
