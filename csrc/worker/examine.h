/// A worker as the target of compute-sanitizer, which starts it as a child of
/// its own: nobody talks to it, it finds all it needs in its directory.
#ifndef JAXKERN_WORKER_EXAMINE_H_
#define JAXKERN_WORKER_EXAMINE_H_

#include <string>

#include "backends/device.h"

namespace jaxkern {

/// Runs each case of a job once, in order, and ends after the first that fails.
/// In `directory` lie the files of core/examination.h. Arrays are as large as
/// the task says and not a byte larger, and stay until the end, so that an
/// address belongs to one of them. Returns the exit code: 0, unless the files
/// are not as they should be.
int ExamineJob(Device* device, const std::string& directory);

/// Ends this process after so many seconds, and compute-sanitizer with it,
/// which then writes what it has found.
void EndAfter(double seconds);

}  // namespace jaxkern

#endif  // JAXKERN_WORKER_EXAMINE_H_
