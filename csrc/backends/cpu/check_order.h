/// Which accesses of a launch are ordered before which, for the race checker.
///
/// Inside a block, barriers order all threads and warp operations the lanes
/// that take part; atomics, fences and volatile accesses count as ordering
/// whatever precedes the one before whatever follows the other, which finds
/// fewer races than there are and no false ones. Blocks of one launch are
/// ordered by the latter alone, launches always.
#ifndef JAXKERN_BACKENDS_CPU_CHECK_ORDER_H_
#define JAXKERN_BACKENDS_CPU_CHECK_ORDER_H_

#include <array>
#include <cstdint>
#include <vector>

namespace jaxkern {

/// Who accessed a cell, when, and from where.
struct Record {
  uint32_t block = 0;  ///< serial over all launches; 0: no such access
  uint32_t epoch = 0;  ///< barriers of the block before it
  uint32_t clock = 0;  ///< warp operations of the thread before it
  uint32_t tick = 0;   ///< atomics of all threads before it
  uint32_t pc = 0;     ///< of the instruction, in the library
  uint16_t thread = 0;
  bool atomic = false;
};

class Order {
 public:
  Order();

  void StartLaunch();
  void StartBlock();
  void BlockBarrier() { ++epoch_; }
  void WarpBarrier(unsigned warp, unsigned lanes);
  /// An atomic or a fence by `thread`.
  void Synchronise(unsigned thread);

  Record Now(unsigned thread, uint32_t pc, bool atomic) const;
  /// Whether `earlier` is ordered before what `thread` does now; true also for
  /// its own accesses and for no access.
  bool Before(const Record& earlier, unsigned thread) const;

  uint32_t block() const { return block_; }
  bool InBlock(const Record& record) const { return record.block == block_; }
  /// Position in the launch of the block that made a record of this launch.
  uint32_t BlockIndex(const Record& record) const {
    return record.block - launch_;
  }

 private:
  static constexpr unsigned kThreads = 1024;

  uint32_t launch_ = 1;  // serial of the launch's first block
  uint32_t block_ = 0;
  uint32_t epoch_ = 0, tick_ = 0;
  // Of the warp operations of lane l, thread t has seen the first seen_[t][l].
  std::vector<std::array<uint32_t, 32>> seen_;
  std::vector<uint32_t> thread_tick_;  // of each thread's last atomic; 0: none
  std::vector<uint32_t> block_tick_;   // the same, by block of the launch
};

}  // namespace jaxkern

#endif  // JAXKERN_BACKENDS_CPU_CHECK_ORDER_H_
