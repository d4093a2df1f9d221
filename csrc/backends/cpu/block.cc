#include "backends/cpu/block.h"

#include <algorithm>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <cstdlib>
#include <map>
#include <sstream>

#include "backends/cpu/checker.h"
#include "backends/cpu/runtime.h"

namespace jaxkern {
namespace {

constexpr size_t kSharedAlignment = 1024;

/// "3 threads (0-1, 40)": their numbers in the block, ascending.
std::string Threads(std::vector<unsigned> linear) {
  std::sort(linear.begin(), linear.end());
  std::string text = std::to_string(linear.size()) +
                     (linear.size() == 1 ? " thread (" : " threads (");
  constexpr int kRanges = 8;
  int ranges = 0;
  for (size_t i = 0; i < linear.size();) {
    size_t end = i + 1;
    while (end < linear.size() && linear[end] == linear[end - 1] + 1) ++end;
    if (ranges++ == kRanges) return text + ", ...)";
    if (i > 0) text += ", ";
    text += std::to_string(linear[i]);
    if (end - i > 1) text += "-" + std::to_string(linear[end - 1]);
    i = end;
  }
  return text + ")";
}

unsigned LinearOf(uint3 thread) {
  return thread.x + blockDim.x * (thread.y + blockDim.y * thread.z);
}

std::vector<unsigned> Linears(const std::vector<Fiber*>& fibers) {
  std::vector<unsigned> linear;
  for (const Fiber* fiber : fibers) linear.push_back(LinearOf(fiber->thread));
  return linear;
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
  checker_ = Checker::Get();
  if (checker_) checker_->StartBlock();
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

unsigned BlockRunner::Linear() const { return LinearOf(threadIdx); }

void BlockRunner::StartThread() {
  const unsigned index = started_++;
  const unsigned row = index / blockDim.x;
  threadIdx = {index % blockDim.x, row % blockDim.y, row / blockDim.y};
  jaxkern_row_end = plain_ && !checker_ ? blockDim.x : 0;
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
  fiber->context =
      boost::context::fiber(std::allocator_arg,
                            boost::context::protected_fixedsize_stack(
                                checker_ ? kCheckedStackBytes : kStackBytes),
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
  if (checker_) checker_->Settle();
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
  if (checker_) checker_->Settle();
  LeavePlain();
  if (arrived_ == 0) {
    barrier_line_ = line;
  } else if (line != barrier_line_) {
    Fail(Marked(line,
                "divergent barrier: threads of one block wait at different "
                "__syncthreads, " +
                    Threads(Linears(parked_)) + " at line " +
                    std::to_string(barrier_line_) + " and " +
                    Threads({Linear()}) + " at line " + std::to_string(line)));
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
  if (checker_) checker_->BlockBarrier();
  results_[generation_ & 1][0] = nonzero_;
  results_[generation_ & 1][1] = arrived_;
  ++generation_;
  arrived_ = nonzero_ = 0;
  for (Fiber* fiber : parked_) Wake(fiber);
  parked_.clear();
}

Snapshot* BlockRunner::Exchange(unsigned mask, uint64_t value, int line) {
  if (checker_) checker_->Settle();
  LeavePlain();
  Warp& mine = warp();
  const unsigned lane = Linear() % 32;
  if (!(mask >> lane & 1)) {
    Fail(Marked(line, "lane " + std::to_string(lane) +
                          " calls a warp operation whose mask does not name "
                          "it, at line " +
                          std::to_string(line)));
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
  if (checker_) {
    checker_->WarpBarrier(unsigned(&warp - warps_.data()), lanes);
  }
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
  std::map<int, std::vector<unsigned>> at_warp;  // by line
  for (unsigned t = 0; t < count_; ++t) {
    const Warp& warp = warps_[t / 32];
    if (warp.arrived >> t % 32 & 1) {
      at_warp[warp.fibers[t % 32]->line].push_back(t);
    }
  }
  std::ostringstream text;
  text << "divergent barrier: in block (" << blockIdx.x << ", " << blockIdx.y
       << ", " << blockIdx.z << ") ";
  const char* separator = "";
  if (arrived_) {
    text << Threads(Linears(parked_)) << " at __syncthreads (line "
         << barrier_line_ << ")";
    separator = " and ";
  }
  for (const auto& [line, threads] : at_warp) {
    text << separator << Threads(threads) << " at a warp operation (line "
         << line << ")";
    separator = " and ";
  }
  text << " wait for threads that never arrive";
  fault_ =
      Marked(arrived_ ? barrier_line_ : at_warp.begin()->first, text.str());
}

std::string BlockRunner::Marked(int line, const std::string& message) const {
  if (!checker_) return message;
  return kFindingMark + ("kernel.cu:" + std::to_string(line)) + ": " + message;
}

void BlockRunner::Fail(const std::string& message) {
  if (fault_.empty()) fault_ = message;
  main_ = std::move(main_).resume();
  std::abort();  // a fiber of a failed block is never resumed
}

}  // namespace jaxkern
