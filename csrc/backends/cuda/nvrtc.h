/// NVRTC in a compile worker's own process.
#ifndef JAXKERN_BACKENDS_CUDA_NVRTC_H_
#define JAXKERN_BACKENDS_CUDA_NVRTC_H_

#include <map>
#include <string>

#include "backends/cuda/nvrtc_channel.h"

namespace jaxkern {

class Nvrtc {
 public:
  /// Opens libnvrtc, and its builtins before it, in their directory.
  explicit Nvrtc(const std::string& directory);

  const std::string& error() const { return error_; }  ///< "" if it works

  /// To a cubin. Precompiled headers lie in the working directory and are made
  /// when the same headers come the second time.
  NvrtcReply Compile(const NvrtcRequest& request);

 private:
  bool UsesPrecompiled(const NvrtcRequest& request);

  void* library_ = nullptr;
  std::string error_;
  std::map<std::string, int>
      seen_;  // how often, by the headers' text and the options
};

/// The worker's main: serves requests on descriptor 3 until it is closed.
int NvrtcMain(const std::string& directory);

}  // namespace jaxkern

#endif  // JAXKERN_BACKENDS_CUDA_NVRTC_H_
