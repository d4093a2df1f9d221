/// The programs that nvcc would start, taken from what it prints of a dry run.
#ifndef JAXKERN_BACKENDS_CUDA_NVCC_STEPS_H_
#define JAXKERN_BACKENDS_CUDA_NVCC_STEPS_H_

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace jaxkern {

/// From one source to a shared object, for one architecture.
struct NvccSteps {
  /// In nvcc's order. The first two make the host's half of the text, the next
  /// four the device's; kHost needs both.
  enum Step {
    kHostText,     // g++ -E
    kHostFront,    // cudafe++
    kDeviceText,   // g++ -E
    kDeviceFront,  // cicc
    kAssemble,     // ptxas
    kPack,         // fatbinary
    kHost,         // g++ -c
    kLink,         // g++ -shared
    kCount
  };

  std::array<std::vector<std::string>, kCount> argv;
  std::string directory;  ///< of the dry run, without a slash at its end

  /// Files between the steps, without a directory.
  std::string identity;   ///< kHostFront writes it, kDeviceFront reads it
  std::string stub, ptx;  ///< what kDeviceFront writes

  /// A step's arguments for another directory.
  std::vector<std::string> In(const std::string& other, Step step) const;
};

/// Reads what `nvcc --dryrun --keep` printed in `directory`. None unless it is
/// just these steps, each reading what an earlier one writes, in words without
/// any syntax of a shell's but double quotes and known variables.
std::optional<NvccSteps> ReadDryRun(const std::string& printed,
                                    const std::string& directory);

}  // namespace jaxkern

#endif  // JAXKERN_BACKENDS_CUDA_NVCC_STEPS_H_
