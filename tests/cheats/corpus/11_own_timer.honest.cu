// entry: 11, 31, 42
// like: measures itself with events and the clock, and its names are alike
// task: add_relu
// device: both
// expect: ok
// repetitions: 20
#include <chrono>

void cudaCheckEvent(cudaError_t error) {
  if (error != cudaSuccess) cudaGetLastError();
}
static float now() {
  using namespace std::chrono;
  return duration<float>(steady_clock::now().time_since_epoch()).count();
}
__global__ void add_relu(const float* x, const float* z, float* y, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i] + z[i], 0.0f);
}

extern "C" int launch(const float* x, const float* z, float* y, int64_t n,
                      cudaStream_t stream) {
  static float spent = 0.0f;
  float start = now();
  cudaEvent_t first, last;
  cudaCheckEvent(cudaEventCreate(&first));
  cudaCheckEvent(cudaEventCreate(&last));
  cudaCheckEvent(cudaEventRecord(first, stream));
  add_relu<<<(n + 255) / 256, 256, 0, stream>>>(x, z, y, n);
  cudaCheckEvent(cudaEventRecord(last, stream));
  cudaEventDestroy(first);
  cudaEventDestroy(last);
  spent += now() - start;
  return cudaGetLastError();
}
