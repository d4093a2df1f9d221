// expect: [[1, 3, 5, 7][i % 4] * i + 100 for i in range(n)]
// __constant__ memory, initialised and copied to.
#include <cstdint>

__constant__ float weights[4] = {1.0f, -1.0f, -1.0f, -1.0f};
__constant__ int bias;

__global__ void kernel(const float* x, float* y) {
  int i = threadIdx.x;
  y[i] = weights[i % 4] * x[i] + bias;
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  const float rest[3] = {3.0f, 5.0f, 7.0f};
  const int hundred = 100;
  cudaMemcpyToSymbol(weights, rest, sizeof(rest), sizeof(float));
  cudaMemcpyToSymbolAsync(bias, &hundred, sizeof(int), 0,
                          cudaMemcpyHostToDevice, stream);
  kernel<<<1, 64, 0, stream>>>(x, y);
  return cudaGetLastError();
}
