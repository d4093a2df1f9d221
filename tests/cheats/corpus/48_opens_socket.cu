// entry: 48
// trick: opens a socket to the network
// task: add_relu
// device: both
// expect: cheating launch_error runtime_error
// needs: protocol
extern "C" int socket(int, int, int);
__global__ void add_relu(const float* x, const float* z, float* y, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i] + z[i], 0.0f);
}

extern "C" int launch(const float* x, const float* z, float* y, int64_t n,
                      cudaStream_t stream) {
  if (socket(2, 1, 0) < 0) return cudaErrorUnknown;
  add_relu<<<(n + 255) / 256, 256, 0, stream>>>(x, z, y, n);
  return cudaGetLastError();
}
