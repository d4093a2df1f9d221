// expect: [120 if i % 32 < 16 else 1 + 2 * (i % 32) for i in range(n)]
// Halves of a warp go their own ways, with masks and __syncwarp.
#include <cstdint>

__global__ void kernel(float* y) {
  __shared__ volatile float s[64];
  int t = threadIdx.x, lane = t % 32;
  float v = lane;
  if (lane < 16) {
    for (int k = 8; k > 0; k /= 2) v += __shfl_xor_sync(0x0000ffffu, v, k);
  } else {
    s[t] = v;
    __syncwarp(0xffff0000u);
    v += s[t ^ 1] + (lane % 2 ? 2 : 0);
    __syncwarp(0xffff0000u);
  }
  __syncwarp();
  y[t] = v;
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  kernel<<<1, 64, 0, stream>>>(y);
  return cudaGetLastError();
}
