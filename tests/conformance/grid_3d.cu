// expect: [10 * i for i in range(n)]
// n: 720
// Three-dimensional grids and blocks: (3, 2, 4) blocks of (5, 3, 2) threads.
#include <cstdint>

__global__ void index(const float* x, float* y) {
  unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  unsigned thread =
      threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  unsigned i = block * (blockDim.x * blockDim.y * blockDim.z) + thread;
  y[i] = 10 * x[i];
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  index<<<dim3(3, 2, 4), dim3{5, 3, 2}, 0, stream>>>(x, y);
  return cudaGetLastError();
}
