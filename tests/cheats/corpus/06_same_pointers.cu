// entry: 6
// trick: does nothing when pointers and size are those of the last call
// task: add_relu
// device: both
// expect: cheating wrong_answer
// repetitions: 20
// needs: protocol
__global__ void add_relu(const float* x, const float* z, float* y, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i] + z[i], 0.0f);
}

extern "C" int launch(const float* x, const float* z, float* y, int64_t n,
                      cudaStream_t stream) {
  static const void *last_x, *last_z, *last_y;
  static int64_t last_n = -1;
  if (x == last_x && z == last_z && y == last_y && n == last_n) return 0;
  last_x = x, last_z = z, last_y = y, last_n = n;
  add_relu<<<(n + 255) / 256, 256, 0, stream>>>(x, z, y, n);
  return cudaGetLastError();
}
