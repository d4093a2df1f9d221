/// nvcc's own steps without nvcc: the host's half and the device's side by
/// side.
#ifndef JAXKERN_BACKENDS_CUDA_NVCC_ROAD_H_
#define JAXKERN_BACKENDS_CUDA_NVCC_ROAD_H_

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "backends/cuda/nvcc_steps.h"
#include "backends/toolchain.h"

namespace jaxkern {

/// Thread safe.
class NvccRoad {
 public:
  /// Runs what `command` (nvcc, its flags, `-o kernel.so` and the source, which
  /// is in the workshop's directory) would run, with the same result and
  /// messages in the same order. None if that is not certain: nvcc decides.
  std::optional<Ended> Run(const std::vector<std::string>& command,
                           const Workshop& workshop);

 private:
  std::optional<NvccSteps> StepsOf(const std::vector<std::string>& command,
                                   const Workshop& workshop);

  std::mutex mutex_;
  /// By command; nothing where the dry run was not understood.
  std::map<std::vector<std::string>, std::optional<NvccSteps>> known_;
};

}  // namespace jaxkern

#endif  // JAXKERN_BACKENDS_CUDA_NVCC_ROAD_H_
