/// Launches on an idle device, by the host's clock and the device's.
#ifndef JAXKERN_WORKER_AUDIT_H_
#define JAXKERN_WORKER_AUDIT_H_

#include "backends/device.h"
#include "core/protocol.h"

namespace jaxkern {

/// What says least against the candidate in two measurements.
Measurement Least(const Measurement& a, const Measurement& b);

/// What the host's clock and the streams say against the device's times; kOk
/// if nothing.
Event Contradiction(const Measurement& least);

}  // namespace jaxkern

#endif  // JAXKERN_WORKER_AUDIT_H_
