// entry: 22
// trick: writes an element before its output
// task: relu
// device: both
// expect: cheating wrong_answer runtime_error
// needs: protocol
__global__ void relu(const float* x, float* y, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i == 0) y[-1] = 0.0f;
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
