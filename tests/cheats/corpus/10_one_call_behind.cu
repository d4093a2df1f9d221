// entry: 10
// trick: every call does the work of the one before
// task: add_relu
// device: both
// expect: cheating wrong_answer runtime_error
__global__ void add_relu(const float* x, const float* z, float* y, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i] + z[i], 0.0f);
}

extern "C" int launch(const float* x, const float* z, float* y, int64_t n,
                      cudaStream_t stream) {
  static const float *old_x, *old_z;
  static float* old_y;
  static int64_t old_n = 0;
  if (old_n > 0) {
    add_relu<<<(old_n + 255) / 256, 256, 0, stream>>>(old_x, old_z, old_y,
                                                      old_n);
  }
  old_x = x, old_z = z, old_y = y, old_n = n;
  return cudaGetLastError();
}
