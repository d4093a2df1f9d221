// expect: [sum(range(8 * (i // 8), 8 * (i // 8) + 8)) + 1000 * (i // 8) + (i % 8) for i in range(n)]
// cooperative_groups: the block and tiles of eight threads.
#include <cooperative_groups.h>
#include <cstdint>

namespace cg = cooperative_groups;

__global__ void kernel(const float* x, float* y) {
  __shared__ float s[64];
  cg::thread_block block = cg::this_thread_block();
  auto tile = cg::tiled_partition<8>(block);
  unsigned t = block.thread_rank();
  s[block.size() - 1 - t] = x[t];
  block.sync();
  float v = s[63 - t];
  for (int k = tile.size() / 2; k > 0; k /= 2) v += tile.shfl_down(v, k);
  v = tile.shfl(v, 0);
  tile.sync();
  bool right = tile.any(t == 0) == (t < 8) && tile.ballot(1) == 0xff;
  y[t] = v + 1000 * tile.meta_group_rank() + (right ? tile.thread_rank() : -1);
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  kernel<<<1, 64, 0, stream>>>(x, y);
  return cudaGetLastError();
}
