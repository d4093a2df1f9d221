#include "backends/cpu/runtime.h"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "backends/cpu/block.h"
#include "backends/cpu/checker.h"

__thread uint3 threadIdx;
__thread uint3 blockIdx;
__thread dim3 blockDim;
__thread dim3 gridDim;
__thread unsigned jaxkern_row_end;

namespace jaxkern {
namespace {

std::mutex fault_mutex;
std::string fault;
std::atomic<bool> faulted{false};
thread_local cudaError last_error = cudaSuccess;
std::atomic<size_t> shared_limit{kSharedPerBlock};
thread_local BlockRunner* running = nullptr;  // while inside a block
std::atomic<int> pool_threads{0};
std::atomic<int64_t> work_count{0}, work_ns{0};
std::mutex host_writes_mutex;
std::vector<HostWrite> host_writes;
constexpr size_t kMostHostWrites = 64;

void RecordFault(const std::string& message) {
  std::lock_guard<std::mutex> lock(fault_mutex);
  if (fault.empty()) fault = message;
  faulted = true;
}

BlockRunner& Runner() {
  // Never destroyed: a candidate's exit handlers may still launch.
  static thread_local BlockRunner* runner = new BlockRunner;
  return *runner;
}

/// Threads that take blocks of a launch until none is left.
class Pool {
 public:
  explicit Pool(int threads) {
    for (int i = 1; i < threads; ++i) {
      std::thread([this] { Serve(); }).detach();
      ++pool_threads;
    }
  }

  void Run(const Launch& launch) {
    const uint64_t blocks =
        uint64_t(launch.grid.x) * launch.grid.y * launch.grid.z;
    next_ = 0;
    if (blocks > 1) {
      std::lock_guard<std::mutex> lock(mutex_);
      launch_ = &launch;
      blocks_ = blocks;
      ++round_;
      wake_.notify_all();
    }
    Work(launch, blocks);
    std::unique_lock<std::mutex> lock(mutex_);
    launch_ = nullptr;
    idle_.wait(lock, [this] { return busy_ == 0; });
  }

 private:
  void Serve() {
    uint64_t seen = 0;
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return launch_ && round_ != seen; });
      seen = round_;
      const Launch* launch = launch_;
      const uint64_t blocks = blocks_;
      ++busy_;
      lock.unlock();
      Work(*launch, blocks);
      lock.lock();
      if (--busy_ == 0) idle_.notify_all();
    }
  }

  void Work(const Launch& launch, uint64_t blocks) {
    BlockRunner& runner = Runner();
    running = &runner;
    for (uint64_t b; !faulted && (b = next_++) < blocks;) {
      const uint64_t plane = uint64_t(launch.grid.x) * launch.grid.y;
      runner.Run(launch,
                 {unsigned(b % launch.grid.x),
                  unsigned(b % plane / launch.grid.x), unsigned(b / plane)});
      if (!runner.fault().empty()) RecordFault(runner.fault());
    }
    running = nullptr;
  }

  std::mutex mutex_;
  std::condition_variable wake_, idle_;
  const Launch* launch_ = nullptr;
  uint64_t blocks_ = 0, round_ = 0;
  int busy_ = 0;
  std::atomic<uint64_t> next_{0};
};

/// CUDA 13 has one error for all of these; before, most of them were a
/// cudaErrorInvalidConfiguration.
cudaError CheckLaunch(dim3 grid, dim3 block, size_t shared) {
  const uint64_t threads = uint64_t(block.x) * block.y * block.z;
  const bool possible = threads > 0 && threads <= kMaxThreadsPerBlock &&
                        block.z <= 64 && grid.x > 0 && grid.y > 0 &&
                        grid.z > 0 && grid.x <= 0x7fffffff && grid.y <= 65535 &&
                        grid.z <= 65535 && shared <= shared_limit;
  return possible ? cudaSuccess : cudaErrorInvalidValue;
}

}  // namespace

std::string KernelFault() {
  std::lock_guard<std::mutex> lock(fault_mutex);
  return fault;
}

bool InKernel() { return running != nullptr; }

void RaiseFault(const std::string& message) {
  if (running) running->Fail(message);
  RecordFault(message);
}

int RuntimeThreads() {
  static const int threads = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
    return std::max(1, CPU_COUNT(&set));
  }();
  return threads;
}

int PoolThreads() { return pool_threads; }

RuntimeWork WorkSoFar() { return {work_count, double(work_ns) / 1e3}; }

void AddHostWrite(const void* to, size_t bytes) {
  std::lock_guard<std::mutex> lock(host_writes_mutex);
  if (host_writes.size() < kMostHostWrites) host_writes.push_back({to, bytes});
}

std::vector<HostWrite> TakeHostWrites() {
  std::lock_guard<std::mutex> lock(host_writes_mutex);
  return std::exchange(host_writes, {});
}

int64_t ProcessorTime() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return int64_t(now.tv_sec) * 1000000000 + now.tv_nsec;
}

WorkScope::WorkScope(int count) : start_(ProcessorTime()) {
  work_count += count;
}

WorkScope::~WorkScope() { work_ns += ProcessorTime() - start_; }

cudaError SetLastError(cudaError error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

cudaError TakeLastError() {
  const cudaError error = last_error;
  if (!faulted) last_error = cudaSuccess;
  return error;
}

cudaError LastError() { return last_error; }

void SetSharedLimit(size_t bytes) { shared_limit = bytes; }

}  // namespace jaxkern

using jaxkern::running;

extern "C" {

void jaxkern_launch(dim3 grid, dim3 block, size_t shared,
                    jaxkern_threads threads, const void* kernel) {
  if (running) {
    jaxkern_trap(
        "a kernel launches a kernel: dynamic parallelism is not "
        "available on the cpu device");
  }
  if (jaxkern::faulted) {
    jaxkern::SetLastError(cudaErrorLaunchFailure);
    return;
  }
  const cudaError error = jaxkern::CheckLaunch(grid, block, shared);
  if (error != cudaSuccess) {
    jaxkern::SetLastError(error);
    return;
  }
  const jaxkern::WorkScope work(1);
  if (auto* checker = jaxkern::Checker::Get()) {
    checker->StartLaunch(shared, __builtin_frame_address(0));
  }
  static auto* pool = new jaxkern::Pool(
      jaxkern::Checker::Get() ? 1 : jaxkern::RuntimeThreads());
  pool->Run({grid, block, shared, threads, kernel});
  if (jaxkern::faulted) jaxkern::SetLastError(cudaErrorLaunchFailure);
}

bool jaxkern_next() { return running->Next(); }

int jaxkern_syncthreads(int predicate, int how, int line) {
  return running->SyncThreads(predicate, how, line);
}

void jaxkern_syncwarp(unsigned mask, int line) {
  running->Release(running->Exchange(mask, 0, line));
}

uint64_t jaxkern_shuffle(unsigned mask, uint64_t value, int source, int line) {
  jaxkern::Snapshot* snapshot = running->Exchange(mask, value, line);
  if (snapshot->lanes >> source & 1) value = snapshot->values[source];
  running->Release(snapshot);
  return value;
}

unsigned jaxkern_gather(unsigned mask, uint64_t value, uint64_t values[32],
                        int line) {
  jaxkern::Snapshot* snapshot = running->Exchange(mask, value, line);
  const unsigned lanes = snapshot->lanes;
  std::copy(snapshot->values, snapshot->values + 32, values);
  running->Release(snapshot);
  return lanes;
}

unsigned jaxkern_lane() {
  return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) %
         32;
}

unsigned jaxkern_activemask(int line) { return running->ActiveMask(line); }

void* jaxkern_dynamic_shared(const char* name, size_t element) {
  auto* checker = jaxkern::Checker::Get();
  if (!checker) return running->shared();
  checker->NameDynamicShared(name, element);
  return checker->dynamic_shared();
}

size_t jaxkern_dynamic_shared_size() { return running->shared_size(); }

void jaxkern_trap(const char* message) {
  const auto* checker = jaxkern::Checker::Get();
  if (running && checker) {
    running->Fail(jaxkern::kFindingMark + std::string(message) + ", in " +
                  checker->Who());
  }
  if (running) running->Fail(message);
  std::fprintf(stderr, "%s\n", message);
  std::abort();
}

}  // extern "C"
