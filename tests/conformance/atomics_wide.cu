// expect: 2016 63 -7 1008 2016 5 0 63
// n: 8
// Atomics on 64-bit integers, float and double.
#include <cstdint>

__device__ unsigned long long total, most, cell;
__device__ long long least;
__device__ double real;
__device__ float single, swapped;

__global__ void clear() {
  total = most = cell = 0;
  least = 1ll << 40;
  real = single = swapped = 0;
}
__global__ void kernel() {
  unsigned long long t = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&total, t << 33);
  atomicMax(&most, t << 40);
  atomicMin(&least, (long long)t - 7);
  atomicAdd(&real, 0.5 * t);
  atomicAdd(&single, (float)t);
  atomicExch(&swapped, 5.0f);
  atomicCAS(&cell, 0ull, 1ull);
  atomicExch(&cell, 0ull);
}
__global__ void read(float* y) {
  y[0] = float(total >> 33);
  y[1] = float(most >> 40);
  y[2] = float(least);
  y[3] = float(real);
  y[4] = single;
  y[5] = swapped;
  y[6] = float(cell);
  y[7] = float(atomicOr(&most, 1ull) >> 40);
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  clear<<<1, 1, 0, stream>>>();
  kernel<<<2, 32, 0, stream>>>();
  read<<<1, 1, 0, stream>>>(y);
  return cudaGetLastError();
}
