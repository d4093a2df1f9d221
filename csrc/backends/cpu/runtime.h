/// The CUDA-on-CPU runtime behind the shim headers; see runtime_abi.h for what
/// candidates call.
#ifndef JAXKERN_BACKENDS_CPU_RUNTIME_H_
#define JAXKERN_BACKENDS_CPU_RUNTIME_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "backends/cpu/include/jaxkern_cpu/host.h"
#include "backends/device.h"

namespace jaxkern {

/// Limits of the device that a candidate sees; those of sm_90.
constexpr unsigned kMaxThreadsPerBlock = 1024;
constexpr size_t kSharedPerBlock = 48 << 10;
constexpr size_t kSharedPerBlockOptIn = 227 << 10;

/// Of each CUDA thread; unoptimised code needs more. Virtual memory: only what
/// a thread touches becomes real.
constexpr size_t kStackBytes = 128 << 10;
constexpr size_t kCheckedStackBytes = 512 << 10;

/// What a kernel did wrong since the last call, e.g. "divergent barrier: ...";
/// empty if nothing. Such a fault is not reset: the process must be replaced.
std::string KernelFault();

/// Whether this OS thread runs a CUDA thread.
bool InKernel();

/// Records a fault. In a kernel, ends its block and does not return.
void RaiseFault(const std::string& message);

/// Cores that kernels run on.
int RuntimeThreads();

/// Threads that run kernels beside the launching one; they start with the
/// first launch.
int PoolThreads();

/// What the runtime did for a candidate so far.
struct RuntimeWork {
  int64_t count = 0;  ///< kernels, memsets and copies within the device
  double us = 0;      ///< processor time in them and in allocations
};
RuntimeWork WorkSoFar();

/// Processor time of all threads, in nanoseconds: what others do on the machine
/// does not count.
int64_t ProcessorTime();

/// Counts one piece of work from here to the end of the scope.
class WorkScope {
 public:
  explicit WorkScope(int count);
  ~WorkScope();

 private:
  int64_t start_;
};

/// Remembers that memory was filled from the host's, for TakeHostWrites.
void AddHostWrite(const void* to, size_t bytes);
std::vector<HostWrite> TakeHostWrites();

/// Remembers an error for cudaGetLastError and returns it.
cudaError SetLastError(cudaError error);

/// The error, forgotten unless it is a fault's.
cudaError TakeLastError();

/// The error, kept.
cudaError LastError();

/// Bytes of dynamic shared memory that a launch may ask for.
void SetSharedLimit(size_t bytes);

}  // namespace jaxkern

#endif  // JAXKERN_BACKENDS_CPU_RUNTIME_H_
