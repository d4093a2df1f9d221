/// The baselines of a job, inside the worker.
#ifndef JAXKERN_WORKER_BASELINES_H_
#define JAXKERN_WORKER_BASELINES_H_

#include <memory>
#include <string>
#include <vector>

#include "backends/device.h"
#include "core/fd.h"
#include "core/protocol.h"
#include "worker/library.h"

namespace jaxkern {

/// Loaded before the candidate is, and unloaded after it.
class Baselines {
 public:
  Baselines(Device* device, const Job& job) : device_(device), job_(job) {}

  /// Loads those whose libraries are in `memory`, behind the job's other
  /// memory, and takes them out of it. Tells `channel` which one it is at, and
  /// at the end which ones take no part and why. Not kOk if the device is lost.
  Event Prepare(std::vector<Fd>* memory, int channel);

  /// By baseline; null if it takes no part.
  std::vector<Entry> entries() const;

 private:
  Event PrepareOne(const JobBaseline& baseline, Fd memory, std::string* note);
  DeviceError LaunchOnZeros(Entry entry, const JobCase& c);

  Device* device_;
  const Job& job_;
  std::vector<std::unique_ptr<Library>> libraries_;
};

}  // namespace jaxkern

#endif  // JAXKERN_WORKER_BASELINES_H_
