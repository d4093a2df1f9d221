// entry: 2, 41
// like: copies the input to the output and works in place there
// task: relu
// device: both
// expect: ok
// repetitions: 20
__global__ void clip(float* y, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n && y[i] < 0.0f) y[i] = 0.0f;
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  cudaMemcpyAsync(y, x, n * sizeof(float), cudaMemcpyDeviceToDevice, stream);
  clip<<<(n + 255) / 256, 256, 0, stream>>>(y, n);
  return cudaGetLastError();
}
