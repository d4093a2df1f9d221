/// Whether a worker that is to serve again is as it was.
#ifndef JAXKERN_WORKER_FOOTPRINT_H_
#define JAXKERN_WORKER_FOOTPRINT_H_

#include <cstdint>

#include "backends/device.h"

namespace jaxkern {

/// What a candidate may leave behind in this process.
struct Footprint {
  int threads = 0;  ///< that are not the device's own
  int descriptors = 0;
  int files = 0;           ///< in the working directory
  int64_t free_bytes = 0;  ///< on the device
};

Footprint TakeFootprint(Device* device);

/// What there must be once `before` has turned into `after`, where this was our
/// own doing.
void Shift(const Footprint& before, const Footprint& after, Footprint* clean);

/// True if there is nothing more now than there was. Memory of the device may
/// shrink a little: drivers allocate late.
bool IsClean(const Footprint& before, const Footprint& now);

}  // namespace jaxkern

#endif  // JAXKERN_WORKER_FOOTPRINT_H_
