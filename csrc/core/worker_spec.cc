// How a pipeline's workers are started, and what they may use.
#include <cstdint>
#include <string>

#include "backends/toolchain.h"
#include "core/memory_budget.h"
#include "core/pipeline.h"
#include "core/runner.h"
#include "core/subprocess.h"

namespace jaxkern {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kLimitMemory = false;  // their shadows reserve terabytes
#else
constexpr bool kLimitMemory = true;
#endif
constexpr int64_t kCpuWorkerFile = int64_t{64} << 20;
constexpr int64_t kCudaWorkerHostMemory = int64_t{4} << 30;
constexpr int kCpuWorkerDescriptors = 64;
constexpr int kCudaWorkerDescriptors = 1024;

}  // namespace

WorkerSpec Pipeline::MakeWorkerSpec(const std::string& device) const {
  const bool cpu = device == "cpu";
  WorkerSpec spec;
  spec.scratch = guard_.scratch();
  spec.command.argv = {native_ + "/bin/jaxkern-worker", "--device=" + device};
  spec.command.environment = ScrubbedEnvironment();
  for (const std::string& pair : builder_.toolchain().WorkerEnvironment()) {
    spec.command.environment.push_back(pair);
  }
  spec.command.guard = guard_.fd();
  if (cpu) {
    // On cuda it is for diagnoses only.
    const int64_t bytes =
        options_.device == device ? memory_bytes_ : WorkerMemory(device, 0);
    if (kLimitMemory) spec.command.memory_bytes = bytes;
    spec.command.file_bytes = kCpuWorkerFile;
  } else {
    // CUDA reserves far more address space than it uses, so what it comes to
    // use is limited instead.
    spec.host_bytes = kCudaWorkerHostMemory;
    spec.command.argv.push_back("--memory=" + std::to_string(memory_bytes_));
  }
  spec.command.open_files =
      cpu ? kCpuWorkerDescriptors : kCudaWorkerDescriptors;
  spec.single_use = cpu;
  spec.cancel = cancel_.get();
  return spec;
}

}  // namespace jaxkern
