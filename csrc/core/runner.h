/// Runs libraries in worker processes and says how that went.
#ifndef JAXKERN_CORE_RUNNER_H_
#define JAXKERN_CORE_RUNNER_H_

#include <memory>
#include <string>
#include <vector>

#include "core/memory_file.h"
#include "core/protocol.h"
#include "core/subprocess.h"
#include "jaxkern/evaluator.h"

namespace jaxkern {

/// How workers are started.
struct WorkerSpec {
  Command command;
  /// A fresh process for every candidate, the next one started ahead; else a
  /// worker is kept until a candidate may have harmed it.
  bool single_use = true;
  int cancel = -1;  ///< readable when all must stop
};

/// How a run went. Only kOk has results, still to be compared.
struct Report {
  Status status = Status::kInfraError;
  std::string stage = "run";
  std::string log;
  std::string rule, evidence;   ///< of kCheating
  Job job;                      ///< what was to be done
  Mapping results;              ///< laid out as the job says
  std::vector<Timing> timings;  ///< of the timed cases
};

/// What to run; the descriptors stay the caller's.
struct RunRequest {
  const Problem* problem;
  int library;
  int baseline = -1;
  JobOptions options;
};

/// The workers of one thread, which must outlive them (see Spawn).
class Runner {
 public:
  explicit Runner(WorkerSpec spec);
  ~Runner();

  /// Starts a worker; the device's description. Throws std::invalid_argument if
  /// the device cannot be used.
  std::string Open();

  /// What fails through no fault of the candidate is tried once more.
  Report Execute(const RunRequest& run);

 private:
  struct Worker;

  std::unique_ptr<Worker> Start() const;
  std::unique_ptr<Worker> TakeReady(std::string* error);
  /// Waits for a job's end and describes it; whether the worker is as it was.
  bool Follow(const RunRequest& run, bool last_try, Worker* worker,
              Report* report);
  Report ExecuteOnce(const RunRequest& run, bool last_try);

  WorkerSpec spec_;
  std::unique_ptr<Worker> spare_;  // started, perhaps not yet ready
};

}  // namespace jaxkern

#endif  // JAXKERN_CORE_RUNNER_H_
