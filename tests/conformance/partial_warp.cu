// expect: [sum(range(40)) if i == 0 else -1 for i in range(40)]
// n: 40
// A block that is not a multiple of 32: the last warp has 8 lanes.
#include <cstdint>

__global__ void kernel(const float* x, float* y) {
  __shared__ float s[2];
  int t = threadIdx.x;
  unsigned mask = t < 32 ? 0xffffffffu : 0xffu;
  float v = x[t];
  for (int k = 16; k > 0; k /= 2) {
    float other = __shfl_down_sync(mask, v, k);
    if ((t % 32) + k < (t < 32 ? 32 : 8)) v += other;
  }
  if (t % 32 == 0) s[t / 32] = v;
  __syncthreads();
  y[t] = t == 0 ? s[0] + s[1] : -1.0f;
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  kernel<<<1, 40, 0, stream>>>(x, y);
  return cudaGetLastError();
}
