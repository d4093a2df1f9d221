// expect: [8 if i % 32 < 8 else 24 for i in range(n)]
// Lanes that run together are counted together.
#include <cstdint>

__global__ void kernel(float* y) {
  int t = threadIdx.x;
  __syncwarp();
  if (t % 32 < 8) {
    y[t] = __popc(__activemask());
  } else {
    unsigned mask = __activemask();
    y[t] = __popc(mask) + ((mask >> (t % 32) & 1) ? 0 : 100);
  }
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  kernel<<<1, 64, 0, stream>>>(y);
  return cudaGetLastError();
}
