/// Runs libraries in worker processes and says how that went.
#ifndef JAXKERN_CORE_RUNNER_H_
#define JAXKERN_CORE_RUNNER_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/baselines.h"
#include "core/health.h"
#include "core/memory_file.h"
#include "core/protocol.h"
#include "core/subprocess.h"
#include "core/worker_process.h"
#include "jaxkern/evaluator.h"

namespace jaxkern {

/// How workers are started.
struct WorkerSpec {
  Command command;         ///< the directory and $TMPDIR are each worker's own
  std::string scratch;     ///< where those are made
  int64_t host_bytes = 0;  ///< memory that a candidate may come to use; 0: any
  /// A fresh process for every candidate; else a worker is kept until a
  /// candidate may have harmed it. The next one is started ahead in any case.
  bool single_use = true;
  int cancel = -1;  ///< readable when all must stop
};

/// How a run went. Only kOk has results, still to be compared.
struct Report {
  Status status = Status::kInfraError;
  std::string stage = "run";
  std::string log;
  std::string rule, evidence;                ///< of kCheating
  Job job;                                   ///< what was to be done
  Mapping results;                           ///< laid out as the job says
  std::vector<Timing> timings;               ///< of the timed cases
  std::map<std::string, std::string> notes;  ///< baselines that took no part
  std::optional<Clocks> clocks;
  bool lost_baseline = false;  ///< kInfraError: before the candidate came
};

/// What to run; the descriptors stay the caller's.
struct RunRequest {
  const Problem* problem;
  int library;
  const std::vector<BuiltBaseline>* baselines = nullptr;  ///< null: none
  JobOptions options;
  bool fresh_process = false;
  /// Asked just before the job and just after it.
  std::function<std::optional<ClockReading>()> read_clocks;
};

/// The workers of one thread, which must outlive them (see Spawn).
class Runner {
 public:
  Runner(WorkerSpec spec, Health* health);
  ~Runner();

  /// Starts a worker. Throws std::invalid_argument if the device cannot be
  /// used.
  Introduction Open();

  /// What fails through no fault of the candidate is tried once more, on
  /// another worker. If no worker can be started any more, the device is taken
  /// out of service.
  Report Execute(const RunRequest& run);

 private:
  std::unique_ptr<WorkerProcess> Start() const;
  /// Waits until the worker is ready; what prevents it, "" if nothing.
  std::string GetReady(WorkerProcess* worker) const;
  std::unique_ptr<WorkerProcess> TakeReady(bool fresh, std::string* error);
  void StartSpare(bool wait);
  /// Ends a worker; how it ended if it had done so by itself.
  Ended Retire(std::unique_ptr<WorkerProcess> worker);
  /// Those that take part, with their libraries; the others into the report.
  std::vector<JobBaseline> ChooseBaselines(const RunRequest& run,
                                           std::vector<int>* libraries,
                                           Report* report) const;
  void ForgetLosses(const RunRequest& run, const Report& report);
  void DescribeBaselineFailure(const RunRequest& run, int index, bool prepared,
                               Report* report);
  /// Waits for a job's end and describes it; whether the worker is as it was.
  bool Follow(const RunRequest& run, bool last_try, WorkerProcess* worker,
              Report* report);
  Report ExecuteOnce(const RunRequest& run, bool last_try);

  WorkerSpec spec_;
  Health* health_;
  std::unique_ptr<WorkerProcess> kept_;   // has run candidates and may run more
  std::unique_ptr<WorkerProcess> spare_;  // started ahead
  bool room_for_spare_ = true;            // until one fails to start
  /// Baselines that took workers with them, one after the other.
  struct Losses {
    int count = 0;
    std::string why;
  };
  std::map<std::string, Losses> losses_;
};

}  // namespace jaxkern

#endif  // JAXKERN_CORE_RUNNER_H_
