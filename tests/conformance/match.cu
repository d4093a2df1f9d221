// expect: [8 + 100 * (i % 4) + 1000 * (i >= 32) for i in range(n)]
// Which lanes hold the same value.
#include <cstdint>

__global__ void kernel(float* y) {
  int t = threadIdx.x;
  unsigned same = __match_any_sync(0xffffffffu, t % 4);
  int first = __ffs(same) - 1, everywhere = 0;
  unsigned all = __match_all_sync(0xffffffffu, t / 32, &everywhere);
  int uneven = 0;
  __match_all_sync(0xffffffffu, (unsigned long long)t << 40, &uneven);
  bool right = all == 0xffffffffu && everywhere && !uneven;
  y[t] = __popc(same) + 100 * first + (right ? 1000 * (t >= 32) : -1);
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  kernel<<<1, 64, 0, stream>>>(y);
  return cudaGetLastError();
}
