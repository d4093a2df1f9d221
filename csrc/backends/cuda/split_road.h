/// The faster road to a candidate's library: its two halves (split.h) are
/// compiled at the same time, by NVRTC and by the host's compiler.
#ifndef JAXKERN_BACKENDS_CUDA_SPLIT_ROAD_H_
#define JAXKERN_BACKENDS_CUDA_SPLIT_ROAD_H_

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "backends/cuda/host_compiler.h"
#include "backends/cuda/nvcc.h"
#include "backends/cuda/nvrtc_pool.h"
#include "backends/cuda/split.h"
#include "backends/toolchain.h"

namespace jaxkern {

class SplitRoad {
 public:
  /// `libraries` are the linker's options for what candidates are linked with.
  /// Without NVRTC beside nvcc, missing() says so and nothing is built.
  SplitRoad(const Nvcc& nvcc, const std::string& architecture,
            const std::vector<std::string>& libraries);

  const std::string& missing() const { return missing_; }

  /// What decides what is built here, besides the source.
  std::string Fingerprint() const;

  /// `flags` are the unit's own.
  FastBuild Build(const std::string& text,
                  const std::vector<std::string>& flags,
                  const Workshop& workshop);

 private:
  /// A trial of the container for cubins, when the first candidate comes.
  /// False: no road.
  bool Prepare(const Workshop& workshop, std::string* reason);
  bool TryContainer(const Workshop& workshop, std::string* reason);

  NvrtcRequest Request(const std::string& text, const UnitFlags& unit) const;
  FastBuild Compile(const std::string& text, const Division& division,
                    const UnitFlags& unit, const Workshop& workshop);
  /// Whether nvcc would complain of the same.
  bool IsSure(const NvrtcReply& reply, const std::string& text,
              const Division& division, const UnitFlags& unit,
              const Workshop& workshop) const;
  FastBuild Join(const NvrtcReply& reply, const std::vector<std::string>& names,
                 const UnitFlags& unit, bool compiled,
                 const Workshop& workshop) const;

  const Nvcc nvcc_;
  const std::string architecture_;
  std::string missing_;
  std::string nvrtc_;    // the directory of libnvrtc
  std::string headers_;  // ours: host/ and device/
  std::string torch_;    // ours, in torch's place
  std::vector<std::string> includes_;
  std::unique_ptr<HostCompiler> host_;
  std::unique_ptr<NvrtcPool> pool_;

  std::mutex mutex_;
  bool prepared_ = false;
  std::string broken_;  // why Prepare failed for good
};

}  // namespace jaxkern

#endif  // JAXKERN_BACKENDS_CUDA_SPLIT_ROAD_H_
