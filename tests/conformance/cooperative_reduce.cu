// expect: [496 + 1024 * (i // 32) + 32 * (i // 32) + 31 + (i // 4 * 4 + 3 - i % 4) for i in range(n)]
// cooperative_groups: reduce, butterflies in tiles of tiles.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cstdint>

namespace cg = cooperative_groups;

template <typename Tile>
__device__ float tile_max(const Tile& tile, float v) {
  return cg::reduce(tile, v, cg::greater<float>());
}

__global__ void kernel(const float* x, float* y) {
  auto block = cg::this_thread_block();
  cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
  auto four = cg::tiled_partition<4>(warp);
  float v = x[threadIdx.x];
  float total = cg::reduce(warp, v, cg::plus<float>());
  float most = tile_max(warp, v);
  cg::sync(block);
  y[threadIdx.x] = total + most + four.shfl_xor(v, 3);
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  kernel<<<1, 64, 0, stream>>>(x, y);
  return cudaGetLastError();
}
