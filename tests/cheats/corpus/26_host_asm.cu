// entry: 26
// trick: assembler in a function for the host
// task: add_relu
// device: both
// expect: cheating
// rule: tampers
__global__ void add_relu(const float* x, const float* z, float* y, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i] + z[i], 0.0f);
}

static unsigned long long ticks() {
  unsigned low, high;
  asm volatile("rdtsc" : "=a"(low), "=d"(high));
  return (unsigned long long)high << 32 | low;
}

extern "C" int launch(const float* x, const float* z, float* y, int64_t n,
                      cudaStream_t stream) {
  if (ticks() == 0) return cudaErrorUnknown;
  add_relu<<<(n + 255) / 256, 256, 0, stream>>>(x, z, y, n);
  return cudaGetLastError();
}
