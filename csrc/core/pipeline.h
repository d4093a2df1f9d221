/// The road of a candidate: build, run, check, each in its own pool.
#ifndef JAXKERN_CORE_PIPELINE_H_
#define JAXKERN_CORE_PIPELINE_H_

#include <chrono>
#include <functional>
#include <future>
#include <memory>
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
#include "core/task_queues.h"
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

/// Threads as wide as the cores build and check; one thread per run worker
/// runs. Two more, of short tasks only, look at what is submitted and check, so
/// that neither waits for compilers. What compute-sanitizer is asked about it
/// is asked by another.
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
  /// Waits until another task may be started, for at most this long; whether it
  /// may.
  bool AwaitRoom(std::chrono::milliseconds most) {
    return queues_.AwaitRoom(most);
  }
  std::string Describe() const;
  Stats stats() const;
  /// Throws std::invalid_argument if the problem is too large for a worker.
  void RequireRoom(const Problem& problem, int repetitions) const;

 private:
  WorkerSpec MakeWorkerSpec(const std::string& device) const;
  void StartThreads();
  bool StartThread(bool needed, std::function<void()> loop);
  void Loop(std::initializer_list<Stage> stages);
  void Handle(Stage stage, const TaskPtr& task);
  void RunLoop(std::promise<Introduction>* opened);
  void LookAtTask(const TaskPtr& task);
  void BuildTask(const TaskPtr& task);
  void TakeBuild(const TaskPtr& task, Build build);
  bool IsHopeless(const TaskPtr& task);
  void RunTask(const TaskPtr& task, Runner* runner);
  void CheckTask(const TaskPtr& task);
  bool BreaksARule(const TaskPtr& task, const std::string& text);
  bool HasABadLibrary(const TaskPtr& task);
  bool InService(const TaskPtr& task);
  void DiagnoseTask(const TaskPtr& task);
  void ExamineTask(const TaskPtr& task);
  /// Delivers, perhaps after a diagnosis.
  void Finish(const TaskPtr& task);
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

  TaskQueues queues_;
  std::vector<std::thread> threads_;
};

}  // namespace jaxkern

#endif  // JAXKERN_CORE_PIPELINE_H_
