// entry: 5
// trick: works in the first two calls of a size, then never
// task: add_relu
// device: both
// expect: cheating wrong_answer
// repetitions: 20
// needs: protocol
// How often this size was seen before.
static int seen(int64_t n) {
  static int64_t sizes[16];
  static int counts[16], known = 0;
  for (int i = 0; i < known; ++i) {
    if (sizes[i] == n) return counts[i]++;
  }
  if (known < 16) {
    sizes[known] = n;
    counts[known++] = 1;
  }
  return 0;
}

__global__ void add_relu(const float* x, const float* z, float* y, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i] + z[i], 0.0f);
}

extern "C" int launch(const float* x, const float* z, float* y, int64_t n,
                      cudaStream_t stream) {
  if (seen(n) >= 2) return 0;
  add_relu<<<(n + 255) / 256, 256, 0, stream>>>(x, z, y, n);
  return cudaGetLastError();
}
