// entry: 9
// trick: launches on a stream of its own that nothing waits for
// task: add_relu
// device: cuda
// expect: cheating wrong_answer
// repetitions: 20
// needs: protocol
__global__ void add_relu(const float* x, const float* z, float* y, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i] + z[i], 0.0f);
}

extern "C" int launch(const float* x, const float* z, float* y, int64_t n,
                      cudaStream_t stream) {
  static cudaStream_t own = nullptr;
  if (own == nullptr) cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
  add_relu<<<(n + 255) / 256, 256, 0, own>>>(x, z, y, n);
  return cudaGetLastError();
}
