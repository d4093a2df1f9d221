// entry: 10
// like: queues copies and kernels on the stream and does not wait
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
  static float* copy = nullptr;
  static int64_t room = 0;
  if (n > room) {
    if (copy != nullptr) cudaFree(copy);
    cudaMalloc(&copy, n * sizeof(float));
    room = n;
  }
  cudaMemcpyAsync(copy, x, n * sizeof(float), cudaMemcpyDeviceToDevice, stream);
  add_relu<<<(n + 255) / 256, 256, 0, stream>>>(copy, z, y, n);
  return cudaGetLastError();
}
