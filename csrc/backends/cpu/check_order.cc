#include "backends/cpu/check_order.h"

#include <algorithm>

namespace jaxkern {

Order::Order() : seen_(kThreads), thread_tick_(kThreads) {}

void Order::StartLaunch() {
  launch_ = block_ + 1;
  block_tick_.clear();
}

void Order::StartBlock() {
  ++block_;
  epoch_ = 0;
  block_tick_.push_back(0);
  std::fill(thread_tick_.begin(), thread_tick_.end(), 0);
  for (unsigned t = 0; t < kThreads; ++t) {
    seen_[t].fill(0);
    seen_[t][t % 32] = 1;  // one's own clock
  }
}

void Order::WarpBarrier(unsigned warp, unsigned lanes) {
  std::array<uint32_t, 32> joined{};
  for (unsigned rest = lanes; rest; rest &= rest - 1) {
    const auto& seen = seen_[warp * 32 + unsigned(__builtin_ctz(rest))];
    for (unsigned l = 0; l < 32; ++l) joined[l] = std::max(joined[l], seen[l]);
  }
  for (unsigned rest = lanes; rest; rest &= rest - 1) {
    const unsigned lane = unsigned(__builtin_ctz(rest));
    seen_[warp * 32 + lane] = joined;
    ++seen_[warp * 32 + lane][lane];
  }
}

void Order::Synchronise(unsigned thread) {
  thread_tick_[thread] = block_tick_.back() = ++tick_;
}

Record Order::Now(unsigned thread, uint32_t pc, bool atomic) const {
  Record record;
  record.block = block_;
  record.epoch = epoch_;
  record.clock = seen_[thread][thread % 32];
  record.tick = tick_;
  record.pc = pc;
  record.thread = uint16_t(thread);
  record.atomic = atomic;
  return record;
}

bool Order::Before(const Record& earlier, unsigned thread) const {
  if (earlier.block < launch_) return true;  // no access, or a launch before
  if (earlier.block != block_) {
    // The blocks run one after another, so any atomic of this one is later.
    return block_tick_[earlier.block - launch_] > earlier.tick &&
           block_tick_.back() > 0;
  }
  if (earlier.thread == thread || earlier.epoch != epoch_) return true;
  if (earlier.thread / 32 == thread / 32 &&
      seen_[thread][earlier.thread % 32] >= earlier.clock) {
    return true;
  }
  return thread_tick_[earlier.thread] > earlier.tick &&
         thread_tick_[thread] > earlier.tick;
}

}  // namespace jaxkern
