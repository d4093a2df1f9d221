/// The road of a candidate: build, run, check, each in its own pool.
#ifndef JAXKERN_CORE_PIPELINE_H_
#define JAXKERN_CORE_PIPELINE_H_

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/baselines.h"
#include "core/builder.h"
#include "core/cache.h"
#include "core/diagnosis.h"
#include "core/fd.h"
#include "core/guard.h"
#include "core/health.h"
#include "core/problem.h"
#include "core/runner.h"
#include "core/sanitizer.h"
#include "jaxkern/evaluator.h"

namespace jaxkern {

/// A request on its way. One thread at a time works on it.
struct Task {
  Request request;
  std::shared_ptr<const Problem> problem;
  uint64_t seed = 0;  // the request's, or fresh
  std::chrono::steady_clock::time_point queued;
  Build build;
  BuiltBaselines baselines;
  Report report;
  Result result;
  bool undiagnosed = false;  ///< has a result, but for its diagnosis
  double examine_s = 0;      ///< of the time for that, what is left
};

using TaskPtr = std::shared_ptr<Task>;

/// Threads as wide as the cores build and check; one thread per run worker
/// runs. What compute-sanitizer is asked about it is asked by one more.
class Pipeline {
 public:
  /// `wanted` is asked before work is spent on a task, `deliver` gets every
  /// task in the end; both are called from the pools' threads. Throws like
  /// Evaluator's constructor.
  Pipeline(const Options& options, std::function<bool(const TaskPtr&)> wanted,
           std::function<void(const TaskPtr&)> deliver);
  /// Kills every child; what is under way ends as an infra_error or not at all.
  ~Pipeline();

  void Start(TaskPtr task);
  std::string Describe() const;
  Stats stats() const { return health_.stats(); }
  /// Throws std::invalid_argument if the problem is too large for a worker.
  void RequireRoom(const Problem& problem, int repetitions) const;

 private:
  WorkerSpec MakeWorkerSpec(const std::string& device) const;
  void HostLoop();
  void RunLoop(std::promise<Introduction>* opened);
  void ExamineLoop();
  TaskPtr TakeHostTask(bool* check);
  TaskPtr Take(std::deque<TaskPtr>* queue, std::condition_variable* work);
  void BuildTask(const TaskPtr& task);
  void RunTask(const TaskPtr& task, Runner* runner);
  void CheckTask(const TaskPtr& task);
  bool BreaksARule(const TaskPtr& task);
  bool HasABadLibrary(const TaskPtr& task);
  bool InService(const TaskPtr& task);
  void DiagnoseTask(const TaskPtr& task);
  void ExamineTask(const TaskPtr& task);
  /// Delivers, perhaps after a diagnosis.
  void Finish(const TaskPtr& task);
  void Push(std::deque<TaskPtr>* queue, TaskPtr task);
  void Fail(const TaskPtr& task, Status status, const std::string& stage,
            const std::string& log);
  void Stop();

  const Options options_;
  const std::function<bool(const TaskPtr&)> wanted_;
  const std::function<void(const TaskPtr&)> deliver_;
  const std::string native_;
  Cache cache_;
  Guard guard_;
  const Fd cancel_;  // readable when all must stop
  Builder builder_;
  BaselineBuilder baseline_builder_;
  const int64_t memory_bytes_;
  Diagnostician diagnostician_;
  Sanitizer sanitizer_;
  Introduction worker_;  // the first one's
  Health health_;

  std::mutex mutex_;
  std::condition_variable host_work_, run_work_, examine_work_;
  bool stopping_ = false;
  std::deque<TaskPtr> to_build_, to_run_, to_check_, to_diagnose_, to_examine_;
  std::vector<std::thread> threads_;
};

}  // namespace jaxkern

#endif  // JAXKERN_CORE_PIPELINE_H_
