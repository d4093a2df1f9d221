/// One job on one device, inside the worker.
#ifndef JAXKERN_WORKER_RUN_JOB_H_
#define JAXKERN_WORKER_RUN_JOB_H_

#include <vector>

#include "backends/device.h"
#include "core/fd.h"
#include "core/protocol.h"

namespace jaxkern {

/// Loads the library, runs every case, leaves outputs and inputs in the
/// results' memory, then times. `memory` is library, inputs and results;
/// `baselines` are the job's, null where one takes no part. Sends progress to
/// `channel`; returns the kDone event.
Event RunJob(Device* device, const Job& job, std::vector<Fd> memory,
             const std::vector<Entry>& baselines, int channel);

}  // namespace jaxkern

#endif  // JAXKERN_WORKER_RUN_JOB_H_
