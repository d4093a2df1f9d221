// expect: [(1 + 4 + 8) if i < 32 else (2 + 4 + 8) for i in range(n)]
// Votes of a warp: all lanes, and the lower half under its own mask.
#include <cstdint>

__global__ void kernel(float* y) {
  const unsigned kAll = 0xffffffffu;
  int t = threadIdx.x, lane = t % 32;
  int result = 0;
  if (__all_sync(kAll, t < 32)) result += 1;
  if (!__any_sync(kAll, t == 5)) result += 2;
  if (__ballot_sync(kAll, lane % 4 == 0) == 0x11111111u) result += 4;
  if (lane < 16) {
    if (__ballot_sync(0xffffu, lane & 1) == 0xaaaau) result += 8;
  } else {
    if (__all_sync(0xffff0000u, lane > 15)) result += 8;
  }
  y[t] = result;
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  kernel<<<1, 64, 0, stream>>>(y);
  return cudaGetLastError();
}
