// expect: [2016]
// n: 1
// The block that finishes last adds up what the others left, behind a fence.
#include <cstdint>

__device__ float partial[8];
__device__ unsigned finished = 0;

__global__ void sum(float* y) {
  __shared__ bool last;
  float v = float(blockIdx.x * 8 + threadIdx.x);
  for (int k = 4; k > 0; k /= 2) v += __shfl_down_sync(0xff, v, k, 8);
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = v;
    __threadfence();
    last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float total = 0;
    for (int k = 0; k < 8; ++k) total += ((volatile float*)partial)[k];
    y[0] = total;
  }
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  sum<<<8, 8, 0, stream>>>(y);
  return cudaGetLastError();
}
