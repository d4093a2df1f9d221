// expect: [16 * 1000 + i % 32 // 2 * 10 + 1 if i % 2 else 0 for i in range(n)]
// cooperative_groups: the lanes that take a branch together.
#include <cooperative_groups.h>
#include <cstdint>

namespace cg = cooperative_groups;

__global__ void kernel(float* y) {
  int t = threadIdx.x;
  y[t] = 0;
  if (t % 2) {
    cg::coalesced_group group = cg::coalesced_threads();
    int leader = group.shfl(t % 32, 0);
    y[t] = group.size() * 1000 + group.thread_rank() * 10 + leader;
  }
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  kernel<<<1, 64, 0, stream>>>(y);
  return cudaGetLastError();
}
