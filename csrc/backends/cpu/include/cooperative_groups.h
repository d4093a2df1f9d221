// Groups of threads: the block, tiles of a warp, and lanes that run together.
#pragma once
#include "cuda_runtime.h"

namespace cooperative_groups {

class thread_block {
 public:
  static dim3 group_index() { return dim3(blockIdx); }
  static dim3 thread_index() { return dim3(threadIdx); }
  static dim3 group_dim() { return blockDim; }
  static dim3 dim_threads() { return blockDim; }
  static unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
  static unsigned num_threads() { return size(); }
  static unsigned thread_rank() {
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  }
  static void sync(JAXKERN_LINE) { __syncthreads(line); }
};
inline thread_block this_thread_block() { return {}; }

/// Lanes of one warp, named by a mask; ranks count within the mask.
class coalesced_group {
 public:
  explicit coalesced_group(unsigned mask) : mask_(mask) {}
  unsigned size() const { return unsigned(__popc(mask_)); }
  unsigned num_threads() const { return size(); }
  unsigned thread_rank() const {
    return unsigned(__popc(mask_ & ((1u << jaxkern_lane()) - 1)));
  }
  unsigned meta_group_rank() const { return 0; }
  unsigned meta_group_size() const { return 1; }
  void sync(JAXKERN_LINE) const { __syncwarp(mask_, line); }
  template <class T>
  T shfl(T v, int rank, JAXKERN_LINE) const {
    return __shfl_sync(mask_, v, Lane(rank), 32, line);
  }
  template <class T>
  T shfl_up(T v, unsigned delta, JAXKERN_LINE) const {
    const int rank = int(thread_rank()) - int(delta);
    return __shfl_sync(mask_, v, Lane(rank < 0 ? int(thread_rank()) : rank), 32,
                       line);
  }
  template <class T>
  T shfl_down(T v, unsigned delta, JAXKERN_LINE) const {
    const unsigned rank = thread_rank() + delta;
    return __shfl_sync(
        mask_, v, Lane(int(rank < size() ? rank : thread_rank())), 32, line);
  }
  /// Lanes of the group, by rank, that hold the same value.
  template <class T>
  unsigned match_any(T v, JAXKERN_LINE) const {
    return Pack(__match_any_sync(mask_, v, line));
  }
  template <class T>
  unsigned match_all(T v, int& all, JAXKERN_LINE) const {
    return Pack(__match_all_sync(mask_, v, &all, line));
  }
  int any(int p, JAXKERN_LINE) const { return __any_sync(mask_, p, line); }
  int all(int p, JAXKERN_LINE) const { return __all_sync(mask_, p, line); }
  unsigned ballot(int p, JAXKERN_LINE) const {
    return Pack(__ballot_sync(mask_, p, line));
  }

 protected:
  /// The lane whose rank is `rank`.
  int Lane(int rank) const {
    unsigned rest = mask_;
    while (rank-- > 0 && rest) rest &= rest - 1;
    return rest ? __builtin_ctz(rest) : int(jaxkern_lane());
  }
  /// Bits by lane to bits by rank.
  unsigned Pack(unsigned lanes) const {
    unsigned packed = 0, r = 0;
    for (unsigned rest = mask_; rest; rest &= rest - 1, ++r)
      packed |= (lanes >> __builtin_ctz(rest) & 1u) << r;
    return packed;
  }
  unsigned mask_;
};
inline coalesced_group coalesced_threads(JAXKERN_LINE) {
  return coalesced_group(jaxkern_activemask(line));
}

template <unsigned N, class Parent = void>
class thread_block_tile : public coalesced_group {
  static_assert(N && N <= 32 && !(N & (N - 1)),
                "tiles have 1, 2, 4, 8, 16 or 32 threads");

 public:
  explicit thread_block_tile(unsigned parent_size)
      : coalesced_group((N == 32 ? ~0u : (1u << (N % 32)) - 1)
                        << (jaxkern_lane() & ~(N - 1))),
        parent_size_(parent_size) {}
  template <class Other>
  thread_block_tile(const thread_block_tile<N, Other>& other)
      : thread_block_tile(other.parent_size()) {}
  static constexpr unsigned size() { return N; }
  static constexpr unsigned num_threads() { return N; }
  unsigned thread_rank() const { return jaxkern_lane() & (N - 1); }
  unsigned meta_group_rank() const {
    return thread_block::thread_rank() % parent_size_ / N;
  }
  unsigned meta_group_size() const { return (parent_size_ + N - 1) / N; }
  template <class T>
  T shfl(T v, int rank, JAXKERN_LINE) const {
    return __shfl_sync(mask_, v, rank, int(N), line);
  }
  template <class T>
  T shfl_xor(T v, int bits, JAXKERN_LINE) const {
    return __shfl_xor_sync(mask_, v, bits, int(N), line);
  }
  unsigned parent_size() const { return parent_size_; }

 private:
  unsigned parent_size_;
};
template <unsigned N, class Parent>
inline thread_block_tile<N, Parent> tiled_partition(const Parent& parent) {
  return thread_block_tile<N, Parent>(parent.size());
}

template <class G>
inline void sync(const G& group, JAXKERN_LINE) {
  group.sync(line);
}

template <class T>
struct plus {
  T operator()(T a, T b) const { return a + b; }
};
template <class T>
struct less {
  T operator()(T a, T b) const { return b < a ? b : a; }
};
template <class T>
struct greater {
  T operator()(T a, T b) const { return a < b ? b : a; }
};

#define JAXKERN_OPERATOR(name, expression)              \
  template <class T>                                    \
  struct name {                                         \
    T operator()(T a, T b) const { return expression; } \
  };
JAXKERN_OPERATOR(bit_and, a& b)
JAXKERN_OPERATOR(bit_or, a | b)
JAXKERN_OPERATOR(bit_xor, a ^ b)
#undef JAXKERN_OPERATOR

/// The same order of combination in every lane.
template <class G, class T, class F>
inline T reduce(const G& group, T v, F combine) {
  T total = group.shfl(v, 0);
  for (unsigned r = 1; r < group.size(); ++r)
    total = combine(total, group.shfl(v, int(r)));
  return total;
}

}  // namespace cooperative_groups
