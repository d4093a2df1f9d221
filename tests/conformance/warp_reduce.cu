// expect: [496 - 16 * 32 - 16 + 31 + 31 + (32 if i < 16 else 0) for i in range(n)]
// n: 32
// Reductions in one instruction: add, min, max, or, xor, and with masks.
#include <cstdint>

__global__ void kernel(float* y) {
  int lane = threadIdx.x;
  unsigned all = 0xffffffffu, u = lane;
  int result = __reduce_add_sync(all, lane - 16) + __reduce_min_sync(all, lane - 16);
  result += int(__reduce_max_sync(all, u) + __reduce_or_sync(all, u) +
                __reduce_xor_sync(all, u) + __reduce_and_sync(all, u));
  if (lane < 16) {
    result += __reduce_add_sync(0xffffu, 2);
  }
  y[lane] = result;
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  kernel<<<1, 32, 0, stream>>>(y);
  return cudaGetLastError();
}
