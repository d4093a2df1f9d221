/// Compile workers: NVRTC in processes that live on between candidates, one for
/// each that is compiled at the same time. One that is late, cancelled or ill
/// is killed, and the next candidate gets a new one.
#ifndef JAXKERN_BACKENDS_CUDA_NVRTC_POOL_H_
#define JAXKERN_BACKENDS_CUDA_NVRTC_POOL_H_

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "backends/cuda/nvrtc_channel.h"
#include "backends/toolchain.h"
#include "core/fd.h"
#include "core/subprocess.h"

namespace jaxkern {

class NvrtcPool {
 public:
  struct Worker {
    Subprocess process;
    Fd socket;
    int compilations = 0;
    ~Worker();
  };

  /// A compilation under way; unless its reply was taken, the worker dies with
  /// it.
  class Compilation {
   public:
    Compilation() = default;
    Compilation(NvrtcPool* pool, std::unique_ptr<Worker> worker)
        : pool_(pool), worker_(std::move(worker)) {}

    explicit operator bool() const { return worker_ != nullptr; }

    /// Nothing at the deadline, when cancelled, or if the worker died.
    std::optional<NvrtcReply> Wait(const Workshop& workshop);

   private:
    NvrtcPool* pool_ = nullptr;
    std::unique_ptr<Worker> worker_;
  };

  /// `program` is jaxkern-nvrtc. Its arguments name everything that it may
  /// read: the first is libnvrtc's directory.
  NvrtcPool(std::string program, std::vector<std::string> arguments);

  /// Gives the request to a worker; false if none could be started.
  Compilation Start(const NvrtcRequest& request, const Workshop& workshop);

 private:
  std::unique_ptr<Worker> Take();
  std::unique_ptr<Worker> New(const Workshop& workshop) const;

  const std::vector<std::string> argv_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Worker>> idle_;
};

}  // namespace jaxkern

#endif  // JAXKERN_BACKENDS_CUDA_NVRTC_POOL_H_
