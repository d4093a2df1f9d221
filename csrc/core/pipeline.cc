#include "core/pipeline.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "backends/toolchain.h"
#include "core/check.h"
#include "core/check_timing.h"
#include "core/device_lock.h"
#include "core/inspect.h"
#include "core/memory_budget.h"
#include "core/native.h"
#include "core/rules.h"
#include "core/schedule.h"
#include "core/subprocess.h"

namespace jaxkern {
namespace {

using Clock = std::chrono::steady_clock;

// Of the time for a diagnosis, the cpu device's, where there is another finder.
constexpr double kCheckerShare = 0.5;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

int Cores() {
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

void RequireAtLeast(int least, const char* argument, int got) {
  if (got >= least) return;
  throw std::invalid_argument(std::string(argument) + ": expected at least " +
                              std::to_string(least) + ", got " +
                              std::to_string(got));
}

std::unique_ptr<Toolchain> MakeToolchain(const Options& options) {
  if (options.device == "cpu") return MakeCpuToolchain(options.compiler);
  if (options.device == "cuda") return MakeCudaToolchain(options.compiler);
  throw std::invalid_argument("device: expected \"cpu\" or \"cuda\", got \"" +
                              options.device + "\"");
}

}  // namespace

Pipeline::Pipeline(const Options& chosen,
                   std::function<bool(const TaskPtr&)> wanted,
                   std::function<void(const TaskPtr&)> deliver)
    : options_(chosen),
      wanted_(std::move(wanted)),
      deliver_(std::move(deliver)),
      native_(NativeDirectory()),
      cache_(CacheDirectory(chosen.cache_dir), chosen.cache_bytes),
      guard_(native_),
      cancel_(eventfd(0, EFD_CLOEXEC)),
      builder_(MakeToolchain(chosen), &cache_, guard_.scratch(), guard_.fd(),
               cancel_.get()),
      baseline_builder_(&builder_),
      memory_bytes_(WorkerMemory(chosen.device, chosen.memory_bytes)),
      diagnostician_(chosen.device == "cpu" ? chosen.compiler : "",
                     MakeWorkerSpec("cpu"), &cache_, guard_.scratch(),
                     guard_.fd(), cancel_.get()),
      sanitizer_(builder_.toolchain().Sanitizer(), chosen.compiler,
                 MakeWorkerSpec(chosen.device), &cache_, guard_.scratch(),
                 guard_.fd(), cancel_.get()) {
  RequireAtLeast(0, "compile_workers", options_.compile_workers);
  RequireAtLeast(1, "run_workers", options_.run_workers);
  std::promise<Introduction> opened;
  std::future<Introduction> introduction = opened.get_future();
  // The thread's own: it may still be in set_value when we go on.
  threads_.emplace_back(
      [this, opened = std::move(opened)]() mutable { RunLoop(&opened); });
  try {
    worker_ = introduction.get();
  } catch (...) {
    Stop();
    throw;
  }
  for (int i = 1; i < options_.run_workers; ++i) {
    threads_.emplace_back([this] { RunLoop(nullptr); });
  }
  const int compilers =
      options_.compile_workers > 0 ? options_.compile_workers : Cores();
  for (int i = 0; i < compilers; ++i) {
    threads_.emplace_back([this] { HostLoop(); });
  }
  if (sanitizer_.usable()) threads_.emplace_back([this] { ExamineLoop(); });
}

Pipeline::~Pipeline() { Stop(); }

void Pipeline::Stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  eventfd_write(cancel_.get(), 1);
  host_work_.notify_all();
  run_work_.notify_all();
  examine_work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Pipeline::HostLoop() {
  bool check = false;
  while (const TaskPtr task = TakeHostTask(&check)) {
    if (!wanted_(task)) {
      deliver_(task);
    } else if (task->undiagnosed) {
      DiagnoseTask(task);
    } else if (check) {
      CheckTask(task);
    } else {
      BuildTask(task);
    }
  }
}

void Pipeline::RunLoop(std::promise<Introduction>* opened) {
  Runner runner(MakeWorkerSpec(options_.device), &health_);
  if (opened != nullptr) {
    try {
      opened->set_value(runner.Open());
    } catch (...) {
      opened->set_exception(std::current_exception());
      return;
    }
  }
  while (const TaskPtr task = Take(&to_run_, &run_work_)) {
    if (wanted_(task)) {
      RunTask(task, &runner);
    } else {
      deliver_(task);
    }
  }
}

void Pipeline::ExamineLoop() {
  while (const TaskPtr task = Take(&to_examine_, &examine_work_)) {
    if (wanted_(task)) ExamineTask(task);
    deliver_(task);
  }
}

TaskPtr Pipeline::TakeHostTask(bool* check) {
  std::unique_lock<std::mutex> lock(mutex_);
  host_work_.wait(lock, [this] {
    return stopping_ || !to_check_.empty() || !to_build_.empty() ||
           !to_diagnose_.empty();
  });
  if (stopping_) return nullptr;
  *check = !to_check_.empty();  // nearly done goes first
  std::deque<TaskPtr>& queue = *check               ? to_check_
                               : !to_build_.empty() ? to_build_
                                                    : to_diagnose_;
  TaskPtr task = std::move(queue.front());
  queue.pop_front();
  return task;
}

TaskPtr Pipeline::Take(std::deque<TaskPtr>* queue,
                       std::condition_variable* work) {
  std::unique_lock<std::mutex> lock(mutex_);
  work->wait(lock, [&] { return stopping_ || !queue->empty(); });
  if (stopping_) return nullptr;
  TaskPtr task = std::move(queue->front());
  queue->pop_front();
  return task;
}

void Pipeline::Push(std::deque<TaskPtr>* queue, TaskPtr task) {
  const std::lock_guard<std::mutex> lock(mutex_);
  task->queued = Clock::now();
  queue->push_back(std::move(task));
  (queue == &to_run_       ? run_work_
   : queue == &to_examine_ ? examine_work_
                           : host_work_)
      .notify_one();
}

void Pipeline::BuildTask(const TaskPtr& task) {
  Result& result = task->result;
  result.device = worker_.device;
  result.queue_s += SecondsSince(task->queued);
  if (!InService(task)) return;
  const Request& request = task->request;
  const Problem& problem = *task->problem;
  if (request.rules && BreaksARule(task)) return;
  for (int attempt = 0; attempt < 2; ++attempt) {
    task->build =
        builder_.Make(request.source, problem, request.compile_timeout_s);
    if (task->build.status != Status::kInfraError) break;
    if (attempt == 0) health_.CountRetry();
  }
  const Build& build = task->build;
  result.compile_s = build.compile_s;
  result.cache_hit = build.cache_hit;
  result.road = build.road;
  result.road_reason = build.road_reason;
  result.resources = build.resources;
  if (build.status != Status::kOk) {
    Fail(task, build.status, build.stage, build.log);
    return;
  }
  if (request.rules && HasABadLibrary(task)) return;
  if (request.repetitions > 0) {
    task->baselines =
        baseline_builder_.Make(problem, request.compile_timeout_s);
  }
  Push(&to_run_, task);
}

/// By its text, before anything is compiled.
bool Pipeline::BreaksARule(const TaskPtr& task) {
  const auto breach = FindBreach(task->request.source);
  if (!breach) return false;
  task->result.rule = breach->rule;
  task->result.evidence = breach->evidence;
  Fail(task, Status::kCheating, "compile",
       "cheating (" + breach->rule + "): " + breach->message + "\n" +
           breach->evidence + "\n");
  return true;
}

/// By what the linker left, before anything of it runs.
bool Pipeline::HasABadLibrary(const TaskPtr& task) {
  const auto offence = Inspect(task->build.library.get());
  if (!offence) return false;
  task->result.rule = offence->rule;
  task->result.evidence = offence->evidence;
  Fail(task, Status::kCheating, "link",
       "cheating (" + offence->rule + "): the kernel " + offence->evidence +
           ", which no kernel needs\n");
  return true;
}

void Pipeline::RunTask(const TaskPtr& task, Runner* runner) {
  std::optional<DeviceLock> alone;  // before the deadline starts to run
  if (task->request.repetitions > 0)
    alone.emplace(worker_.device, cancel_.get());
  task->result.queue_s += SecondsSince(task->queued);
  const auto start = Clock::now();
  RunRequest run;
  run.problem = task->problem.get();
  run.library = task->build.library.get();
  run.baselines = task->baselines.get();
  run.options.seed = task->seed;
  run.options.repetitions = task->request.repetitions;
  run.options.flush = task->request.flush;
  run.options.rules = task->request.rules;
  run.options.timeout_s = task->request.run_timeout_s;
  if (memory_bytes_ > 0) {
    run.options.batch_bytes =
        std::min(run.options.batch_bytes, static_cast<size_t>(memory_bytes_));
  }
  run.fresh_process = task->request.fresh_process;
  if (task->request.repetitions > 0) {
    run.read_clocks = [this] {
      return builder_.toolchain().ReadClocks(worker_.device);
    };
  }
  task->report = runner->Execute(run);
  task->result.run_s = SecondsSince(start);
  task->result.clocks = task->report.clocks;
  if (task->report.status == Status::kOk) {
    Push(&to_check_, task);
  } else {
    task->result.rule = task->report.rule;
    task->result.evidence = task->report.evidence;
    Fail(task, task->report.status, task->report.stage, task->report.log);
  }
}

void Pipeline::CheckTask(const TaskPtr& task) {
  task->result.queue_s += SecondsSince(task->queued);
  const auto start = Clock::now();
  Check(*task->problem, task->report, &task->result);
  if (task->result.status == Status::kOk) {
    CheckTiming(*task->problem, task->report, &task->result);
  }
  task->report.results = Mapping();  // gone when the verdict arrives
  task->result.run_s += SecondsSince(start);
  Finish(task);
}

/// Fails a task that no worker will take any more.
bool Pipeline::InService(const TaskPtr& task) {
  const std::string why = health_.stats().out_of_service;
  if (why.empty()) return true;
  Fail(task, Status::kInfraError, "run",
       "the device is out of service: " + why + "\n");
  return false;
}

void Pipeline::DiagnoseTask(const TaskPtr& task) {
  const Request& request = task->result.replay.request;
  const double share = sanitizer_.usable() ? kCheckerShare : 1;
  const Diagnosis diagnosis = diagnostician_.Diagnose(
      request, *task->problem,
      /*endless=*/task->result.status == Status::kTimeout,
      share * request.run_timeout_s);
  task->result.diagnosis = diagnosis.text;
  task->examine_s = diagnosis.left_s + (1 - share) * request.run_timeout_s;
  if (sanitizer_.usable() && !diagnosis.found) {
    Push(&to_examine_, task);
  } else {
    deliver_(task);
  }
}

void Pipeline::ExamineTask(const TaskPtr& task) {
  const std::string found =
      sanitizer_.Examine(task->result.replay.request, *task->problem,
                         task->result.status, worker_.device, task->examine_s);
  if (!found.empty()) task->result.diagnosis = found;
}

void Pipeline::Finish(const TaskPtr& task) {
  health_.CountResult(task->result.status);
  task->undiagnosed = task->request.diagnose && IsDiagnosable(task->result);
  if (task->undiagnosed) {
    Push(&to_diagnose_, task);
  } else {
    deliver_(task);
  }
}

void Pipeline::Fail(const TaskPtr& task, Status status,
                    const std::string& stage, const std::string& log) {
  task->result.status = status;
  task->result.stage = stage;
  task->result.log = log;
  Finish(task);
}

void Pipeline::Start(TaskPtr task) {
  task->seed = task->request.seed != 0 ? task->request.seed : SecretBits();
  Replay& replay = task->result.replay;
  replay.request = task->request;
  std::error_code unchanged;
  const auto absolute =
      std::filesystem::absolute(task->request.problem, unchanged);
  if (!unchanged) replay.request.problem = absolute.lexically_normal();
  replay.request.seed = task->seed;
  replay.problem_hash = task->problem->hash;
  replay.device = options_.device;
  replay.environment = Describe();
  Push(&to_build_, std::move(task));
}

void Pipeline::RequireRoom(const Problem& problem, int repetitions) const {
  jaxkern::RequireRoom(problem, options_, repetitions, memory_bytes_);
}

std::string Pipeline::Describe() const {
  const std::string sanitizer = builder_.toolchain().Sanitizer();
  return worker_.device + "; " + builder_.toolchain().Describe() + "; cache " +
         cache_.directory() + "; sandbox: " + worker_.sandbox +
         (builder_.sandboxed() ? "; compilers: files" : "; compilers: none") +
         (sanitizer.empty() ? "" : "; compute-sanitizer " + sanitizer) +
         (sanitizer_.unconfined() ? " (starts without Landlock only)" : "");
}

}  // namespace jaxkern
