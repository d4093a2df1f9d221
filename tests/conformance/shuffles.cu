// expect: [3 + (i - 1 if i else 0) * 10 + (i + 4 if i < 28 else i) * 1000 + (i ^ 5) * 100000 + (i // 8 * 8 + 2) * 0.5 + (i + 1 if i % 8 < 7 else i) * 0.25 for i in range(n)]
// n: 32
// All four shuffles, also within segments of a warp.
#include <cstdint>

__global__ void kernel(float* y) {
  const unsigned all = 0xffffffffu;
  int lane = threadIdx.x;
  float v = lane;
  float r = __shfl_sync(all, v, 3);
  r += __shfl_up_sync(all, v, 1) * 10;
  r += __shfl_down_sync(all, v, 4) * 1000;
  r += __shfl_xor_sync(all, lane, 5) * 100000;
  r += float(__shfl_sync(all, (double)lane, 2, 8)) * 0.5f;
  r += float(__shfl_down_sync(all, (long long)lane, 1, 8)) * 0.25f;
  y[lane] = r;
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  kernel<<<1, 32, 0, stream>>>(y);
  return cudaGetLastError();
}
