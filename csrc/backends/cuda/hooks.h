/// What candidates ask of the CUDA runtime, counted on the way.
///
/// The worker's executable exports some of the runtime's functions itself. The
/// dynamic loader resolves a candidate's calls there first; each is counted and
/// passed on to the real library.
#ifndef JAXKERN_BACKENDS_CUDA_HOOKS_H_
#define JAXKERN_BACKENDS_CUDA_HOOKS_H_

#include <cstdint>

#include "backends/cuda/runtime.h"

namespace jaxkern {

struct CudaWork {
  /// Kernels, graphs, memsets and copies on the device; -1 if candidates' calls
  /// do not come here, because the executable does not export the hooks.
  int64_t count = 0;
  /// Of these, on streams that nothing has been made to wait for since. Work
  /// that is only being captured into a graph does not count at all.
  int64_t unjoined = 0;
};

/// From now on; `given` is the stream that candidates get.
void StartCounting(CudaStream given);
CudaWork CountedWork();

}  // namespace jaxkern

#endif  // JAXKERN_BACKENDS_CUDA_HOOKS_H_
