#include "backends/cpu/block.h"

#include <boost/context/protected_fixedsize_stack.hpp>
#include <cstdlib>
#include <map>
#include <sstream>

#include "backends/cpu/runtime.h"

namespace jaxkern {
namespace {

// Virtual memory; only what a thread touches becomes real.
constexpr size_t kStackBytes = 128 << 10;
constexpr size_t kSharedAlignment = 1024;

std::string Threads(unsigned count) {
  return std::to_string(count) + (count == 1 ? " thread" : " threads");
}

}  // namespace

BlockRunner::BlockRunner()
    : warps_(32), shared_(kSharedPerBlockOptIn + kSharedAlignment) {
  const auto address = reinterpret_cast<uintptr_t>(shared_.data());
  shared_offset_ =
      (kSharedAlignment - address % kSharedAlignment) % kSharedAlignment;
}

void BlockRunner::Run(const Launch& launch, uint3 index) {
  launch_ = &launch;
  count_ = launch.block.x * launch.block.y * launch.block.z;
  live_ = count_;
  started_ = 0;
  plain_ = true;
  blockIdx = index;
  blockDim = launch.block;
  gridDim = launch.grid;
  for (unsigned w = 0; w * 32 < count_; ++w) {
    const unsigned lanes = count_ - w * 32;
    warps_[w].live = lanes >= 32 ? ~0u : (1u << lanes) - 1;
  }
  while (fault_.empty()) {
    if (!ready_.empty()) {
      Fiber* fiber = ready_.front();
      ready_.pop_front();
      Resume(fiber);
    } else if (started_ < count_) {
      Fiber* fiber = TakeIdle();
      StartThread();
      fiber->thread = threadIdx;
      Resume(fiber);
    } else if (live_ == 0) {
      return;
    } else if (!ReleaseAsking()) {
      ReportDeadlock();
    }
  }
}

unsigned BlockRunner::Linear() const {
  return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

void BlockRunner::StartThread() {
  const unsigned index = started_++;
  const unsigned row = index / blockDim.x;
  threadIdx = {index % blockDim.x, row % blockDim.y, row / blockDim.y};
  jaxkern_row_end = plain_ ? blockDim.x : 0;
}

void BlockRunner::LeavePlain() {
  if (!plain_) return;
  plain_ = false;
  jaxkern_row_end = 0;
  const unsigned exited = Linear();
  started_ = exited + 1;
  live_ = count_ - exited;
  for (unsigned w = 0; w < exited / 32; ++w) warps_[w].live = 0;
  warps_[exited / 32].live &= ~0u << exited % 32;
}

Fiber* BlockRunner::TakeIdle() {
  if (!idle_.empty()) {
    Fiber* fiber = idle_.back();
    idle_.pop_back();
    return fiber;
  }
  // Never freed: fibers outlive launches, and destroying a parked one would
  // unwind through the candidate's frames.
  auto* fiber = new Fiber;
  fiber->context = boost::context::fiber(
      std::allocator_arg,
      boost::context::protected_fixedsize_stack(kStackBytes),
      [this, fiber](boost::context::fiber&& main) {
        main_ = std::move(main);
        for (;;) {
          launch_->threads(launch_->kernel);
          idle_.push_back(fiber);
          main_ = std::move(main_).resume();
        }
        return std::move(main_);
      });
  return fiber;
}

void BlockRunner::Resume(Fiber* fiber) {
  current_ = fiber;
  threadIdx = fiber->thread;
  fiber->wait = Wait::kNone;
  fiber->context = std::move(fiber->context).resume();
}

void BlockRunner::Park(Wait wait, int line) {
  Fiber* fiber = current_;
  fiber->thread = threadIdx;
  fiber->wait = wait;
  fiber->line = line;
  main_ = std::move(main_).resume();
}

void BlockRunner::Wake(Fiber* fiber) { ready_.push_back(fiber); }

bool BlockRunner::Next() {
  if (plain_) {
    started_ = Linear() + 1;
    if (started_ == count_) {
      live_ = 0;
      return false;
    }
    StartThread();
    return true;
  }
  Warp& mine = warp();
  mine.live &= ~(1u << Linear() % 32);
  --live_;
  // Threads that have exited are not waited for.
  if (arrived_ && arrived_ == live_) ReleaseBarrier();
  for (unsigned waiting = mine.arrived; waiting; waiting &= waiting - 1) {
    const int lane = __builtin_ctz(waiting);
    if (!(mine.arrived >> lane & 1)) continue;
    TryComplete(mine, mine.masks[lane]);
  }
  if (started_ == count_ || !ready_.empty()) return false;
  StartThread();
  return true;
}

int BlockRunner::SyncThreads(int predicate, int how, int line) {
  LeavePlain();
  if (arrived_ == 0) {
    barrier_line_ = line;
  } else if (line != barrier_line_) {
    Fail(
        "divergent barrier: threads of one block wait at different "
        "__syncthreads, at line " +
        std::to_string(barrier_line_) + " and at line " + std::to_string(line));
  }
  const unsigned generation = generation_;
  ++arrived_;
  nonzero_ += predicate != 0;
  if (arrived_ == live_) {
    ReleaseBarrier();
  } else {
    parked_.push_back(current_);
    Park(Wait::kBlock, line);
  }
  // The next barrier cannot complete before this thread arrives there, so two
  // generations of results are enough.
  const unsigned nonzero = results_[generation & 1][0];
  const unsigned total = results_[generation & 1][1];
  if (how == JAXKERN_AND) return nonzero == total;
  return how == JAXKERN_OR ? nonzero > 0 : int(nonzero);
}

void BlockRunner::ReleaseBarrier() {
  results_[generation_ & 1][0] = nonzero_;
  results_[generation_ & 1][1] = arrived_;
  ++generation_;
  arrived_ = nonzero_ = 0;
  for (Fiber* fiber : parked_) Wake(fiber);
  parked_.clear();
}

Snapshot* BlockRunner::Exchange(unsigned mask, uint64_t value, int line) {
  LeavePlain();
  Warp& mine = warp();
  const unsigned lane = Linear() % 32;
  if (!(mask >> lane & 1)) {
    Fail("lane " + std::to_string(lane) +
         " calls a warp operation whose mask does not name it, at line " +
         std::to_string(line));
  }
  mine.masks[lane] = mask;
  mine.values[lane] = value;
  mine.fibers[lane] = current_;
  mine.arrived |= 1u << lane;
  if (Snapshot* done = TryComplete(mine, mask)) return done;
  Park(Wait::kWarp, line);
  return mine.out[lane];
}

Snapshot* BlockRunner::TryComplete(Warp& warp, unsigned mask) {
  const unsigned lanes = mask & warp.live;
  if ((warp.arrived & lanes) != lanes) return nullptr;
  for (unsigned rest = lanes; rest; rest &= rest - 1) {
    if ((warp.masks[__builtin_ctz(rest)] & warp.live) != lanes) return nullptr;
  }
  if (!lanes) return nullptr;
  if (snapshots_.empty()) snapshots_.push_back(new Snapshot);
  Snapshot* snapshot = snapshots_.back();
  snapshots_.pop_back();
  snapshot->lanes = lanes;
  snapshot->readers = __builtin_popcount(lanes);
  warp.arrived &= ~lanes;
  for (unsigned rest = lanes; rest; rest &= rest - 1) {
    const int lane = __builtin_ctz(rest);
    snapshot->values[lane] = warp.values[lane];
    warp.out[lane] = snapshot;
    if (warp.fibers[lane] != current_) Wake(warp.fibers[lane]);
  }
  return snapshot;
}

void BlockRunner::Release(Snapshot* snapshot) {
  if (--snapshot->readers == 0) snapshots_.push_back(snapshot);
}

unsigned BlockRunner::ActiveMask(int line) {
  LeavePlain();
  Warp& mine = warp();
  const unsigned lane = Linear() % 32;
  mine.active[lane] = current_;
  mine.asking |= 1u << lane;
  Park(Wait::kActive, line);
  return mine.active_mask[lane];
}

bool BlockRunner::ReleaseAsking() {
  bool released = false;
  for (unsigned w = 0; w * 32 < count_; ++w) {
    Warp& warp = warps_[w];
    std::map<int, unsigned> groups;  // by line
    for (unsigned rest = warp.asking; rest; rest &= rest - 1) {
      const int lane = __builtin_ctz(rest);
      groups[warp.active[lane]->line] |= 1u << lane;
    }
    for (const auto& [line, lanes] : groups) {
      for (unsigned rest = lanes; rest; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        warp.active_mask[lane] = lanes;
        Wake(warp.active[lane]);
      }
      released = true;
    }
    warp.asking = 0;
  }
  return released;
}

void BlockRunner::ReportDeadlock() {
  unsigned at_warp = 0;
  int line = 0;
  for (unsigned w = 0; w * 32 < count_; ++w) {
    at_warp += unsigned(__builtin_popcount(warps_[w].arrived));
    if (warps_[w].arrived) {
      line = warps_[w].fibers[__builtin_ctz(warps_[w].arrived)]->line;
    }
  }
  std::ostringstream text;
  text << "divergent barrier: in block (" << blockIdx.x << ", " << blockIdx.y
       << ", " << blockIdx.z << ") ";
  if (arrived_) {
    text << Threads(arrived_) << " at __syncthreads (line " << barrier_line_
         << ")";
  }
  if (arrived_ && at_warp) text << " and ";
  if (at_warp) {
    text << Threads(at_warp) << " at a warp operation (line " << line << ")";
  }
  text << " wait for threads that never arrive";
  fault_ = text.str();
}

void BlockRunner::Fail(const std::string& message) {
  if (fault_.empty()) fault_ = message;
  main_ = std::move(main_).resume();
  std::abort();  // a fiber of a failed block is never resumed
}

}  // namespace jaxkern
