// entry: 9
// like: a second stream, joined by an event before returning
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
  static cudaStream_t own = nullptr;
  static cudaEvent_t before, after;
  if (own == nullptr) {
    cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&before, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&after, cudaEventDisableTiming);
  }
  int64_t half = (n + 1) / 2, rest = n - half;
  cudaEventRecord(before, stream);
  cudaStreamWaitEvent(own, before, 0);
  add_relu<<<(half + 255) / 256, 256, 0, stream>>>(x, z, y, half);
  if (rest > 0) {
    add_relu<<<(rest + 255) / 256, 256, 0, own>>>(x + half, z + half, y + half,
                                                  rest);
  }
  cudaEventRecord(after, own);
  cudaStreamWaitEvent(stream, after, 0);
  return cudaGetLastError();
}
