/// Runs the CUDA threads of one block at a time on one OS thread.
///
/// Threads run one after another on one fiber. Only a thread that meets a
/// barrier is parked with its fiber, and another fiber goes on with the next
/// thread: a kernel without barriers never switches inside a block.
#ifndef JAXKERN_BACKENDS_CPU_BLOCK_H_
#define JAXKERN_BACKENDS_CPU_BLOCK_H_

#include <boost/context/fiber.hpp>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "include/jaxkern_cpu/runtime_abi.h"

namespace jaxkern {

class Checker;

/// One kernel launch, shared by the OS threads that run its blocks.
struct Launch {
  dim3 grid, block;
  size_t shared;
  jaxkern_threads threads;
  const void* kernel;
};

/// Where a CUDA thread waits.
enum class Wait { kNone, kBlock, kWarp, kActive };

struct Fiber {
  boost::context::fiber context;
  uint3 thread{};  ///< threadIdx while parked
  Wait wait = Wait::kNone;
  int line = 0;
};

/// What the lanes of a warp brought to one shuffle or vote.
struct Snapshot {
  uint64_t values[32];
  unsigned lanes;
  int readers;  ///< lanes that have not looked yet
};

struct Warp {
  unsigned live = 0;     ///< lanes that exist and have not exited
  unsigned arrived = 0;  ///< lanes that wait in Exchange
  unsigned masks[32];
  uint64_t values[32];
  Fiber* fibers[32];
  Snapshot* out[32];
  Fiber* active[32];  ///< lanes that wait in ActiveMask
  unsigned active_mask[32];
  unsigned asking = 0;  ///< those lanes
};

class BlockRunner {
 public:
  BlockRunner();

  /// Runs a block to its end or to a fault; see fault.
  void Run(const Launch& launch, uint3 index);

  bool Next();
  int SyncThreads(int predicate, int how, int line);
  Snapshot* Exchange(unsigned mask, uint64_t value, int line);
  void Release(Snapshot* snapshot);
  unsigned ActiveMask(int line);
  void* shared() { return shared_.data() + shared_offset_; }
  size_t shared_size() const { return launch_->shared; }

  /// Ends the block with a message; the running fiber never goes on.
  [[noreturn]] void Fail(const std::string& message);
  const std::string& fault() const { return fault_; }

 private:
  void StartThread();
  /// Before the block's first barrier: makes up for what plain threads skip.
  void LeavePlain();
  Fiber* TakeIdle();
  void Resume(Fiber* fiber);
  void Park(Wait wait, int line);
  void Wake(Fiber* fiber);
  void ReleaseBarrier();
  Snapshot* TryComplete(Warp& warp, unsigned mask);
  bool ReleaseAsking();
  void ReportDeadlock();
  /// In checked builds, the message of a finding.
  std::string Marked(int line, const std::string& message) const;
  Warp& warp() { return warps_[Linear() / 32]; }
  unsigned Linear() const;

  const Launch* launch_ = nullptr;
  unsigned count_ = 0, started_ = 0, live_ = 0;
  Checker* checker_ = nullptr;  ///< null: unchecked
  bool plain_ = false;  ///< no thread has waited: started_, live_ lag behind
  boost::context::fiber main_;
  Fiber* current_ = nullptr;
  std::vector<Fiber*> idle_;
  std::deque<Fiber*> ready_;
  std::vector<Fiber*> parked_;  ///< at the block's barrier
  unsigned arrived_ = 0, nonzero_ = 0, generation_ = 0;
  int barrier_line_ = 0;
  unsigned results_[2][2] = {};  ///< by generation: nonzero, total
  std::vector<Warp> warps_;
  std::vector<Snapshot*> snapshots_;
  std::vector<char> shared_;
  size_t shared_offset_ = 0;
  std::string fault_;
};

}  // namespace jaxkern

#endif  // JAXKERN_BACKENDS_CPU_BLOCK_H_
