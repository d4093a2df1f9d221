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
#include "core/memory_budget.h"
#include "core/native.h"
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

int Compilers(const Options& options) {
  return options.compile_workers > 0 ? options.compile_workers : Cores();
}

/// Enough between the stages that none waits for want of work; no more, since
/// what waits holds descriptors and memory.
TaskQueues::Bounds MakeBounds(const Options& options) {
  const int built = 2 * (Compilers(options) + std::max(1, options.run_workers));
  TaskQueues::Bounds bounds;
  bounds.submitted = static_cast<size_t>(std::max(0, options.max_queued));
  bounds.built = static_cast<size_t>(std::max(16, built));
  bounds.ran = static_cast<size_t>(std::max(8, 2 * options.run_workers));
  return bounds;
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
               cancel_.get(), Compilers(chosen)),
      baseline_builder_(&builder_),
      memory_bytes_(WorkerMemory(chosen.device, chosen.memory_bytes)),
      diagnostician_(chosen.device == "cpu" ? chosen.compiler : "",
                     MakeWorkerSpec("cpu"), &cache_, guard_.scratch(),
                     guard_.fd(), cancel_.get()),
      sanitizer_(builder_.toolchain().Sanitizer(), chosen.compiler,
                 MakeWorkerSpec(chosen.device), &cache_, guard_.scratch(),
                 guard_.fd(), cancel_.get()),
      queues_(MakeBounds(chosen)) {
  RequireAtLeast(0, "compile_workers", options_.compile_workers);
  RequireAtLeast(1, "run_workers", options_.run_workers);
  RequireAtLeast(0, "max_queued", options_.max_queued);
  if (options_.explain_misses) builder_.ExplainMisses();
  std::promise<Introduction> opened;
  std::future<Introduction> introduction = opened.get_future();
  // The thread's own: it may still be in set_value when we go on.
  threads_.emplace_back(
      [this, opened = std::move(opened)]() mutable { RunLoop(&opened); });
  try {
    worker_ = introduction.get();
    StartThreads();
  } catch (...) {
    Stop();
    throw;
  }
}

/// Where the system has no more threads (RLIMIT_NPROC, a container's limit) the
/// pools are smaller; one of each is needed.
void Pipeline::StartThreads() {
  const auto host = [this] {
    Loop({Stage::kCheck, Stage::kLook, Stage::kBuild, Stage::kDiagnose});
  };
  StartThread(/*needed=*/true, host);
  StartThread(false, [this] { Loop({Stage::kLook}); });
  StartThread(false, [this] { Loop({Stage::kCheck}); });
  if (sanitizer_.usable()) {
    StartThread(true, [this] { Loop({Stage::kExamine}); });
  }
  for (int i = 1; i < options_.run_workers; ++i) {
    if (!StartThread(false, [this] { RunLoop(nullptr); })) return;
  }
  for (int i = 1; i < Compilers(options_); ++i) {
    if (!StartThread(false, host)) return;
  }
}

bool Pipeline::StartThread(bool needed, std::function<void()> loop) {
  try {
    threads_.emplace_back(std::move(loop));
    return true;
  } catch (const std::system_error&) {
    if (needed) throw;
    return false;
  }
}

Pipeline::~Pipeline() { Stop(); }

void Pipeline::Stop() {
  queues_.Stop();
  eventfd_write(cancel_.get(), 1);
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Pipeline::Loop(std::initializer_list<Stage> stages) {
  Stage stage = Stage::kNone;
  while (const TaskPtr task = queues_.Take(stages, &stage)) {
    if (wanted_(task)) {
      Handle(stage, task);
    } else {
      deliver_(task);
    }
    if (stage == Stage::kBuild) queues_.Built();
  }
}

void Pipeline::Handle(Stage stage, const TaskPtr& task) {
  switch (stage) {
    case Stage::kLook:
      return LookAtTask(task);
    case Stage::kBuild:
      return BuildTask(task);
    case Stage::kCheck:
      return CheckTask(task);
    case Stage::kDiagnose:
      return DiagnoseTask(task);
    case Stage::kExamine:
      return ExamineTask(task);
    case Stage::kRun:  // in RunLoop, with a worker
    case Stage::kNone:
      return;
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
  Stage stage = Stage::kNone;
  while (const TaskPtr task = queues_.Take({Stage::kRun}, &stage)) {
    if (wanted_(task)) {
      RunTask(task, &runner);
    } else {
      deliver_(task);
    }
  }
}

void Pipeline::BuildTask(const TaskPtr& task) {
  task->result.queue_s += SecondsSince(task->queued);
  if (!InService(task)) return;
  const Request& request = task->request;
  Build build;
  for (int attempt = 0; attempt < 2; ++attempt) {
    build = builder_.Make(request.source, *task->problem,
                          request.compile_timeout_s);
    if (build.status != Status::kInfraError) break;
    if (attempt == 0) health_.CountRetry();
  }
  TakeBuild(task, std::move(build));
}

void Pipeline::TakeBuild(const TaskPtr& task, Build build) {
  task->build = std::move(build);
  const Build& built = task->build;
  const Request& request = task->request;
  Result& result = task->result;
  result.compile_s = built.compile_s;
  result.cache_hit = built.cache_hit;
  result.cache_miss = built.cache_miss;
  result.road = built.road;
  result.road_reason = built.road_reason;
  result.resources = built.resources;
  if (built.status != Status::kOk) {
    Fail(task, built.status, built.stage, built.log);
    return;
  }
  if (request.rules && HasABadLibrary(task)) return;
  if (request.repetitions > 0) {
    task->baselines =
        baseline_builder_.Make(*task->problem, request.compile_timeout_s);
  }
  queues_.Push(Stage::kRun, task);
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
    queues_.Push(Stage::kCheck, task);
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
    queues_.Push(Stage::kExamine, task);
  } else {
    deliver_(task);
  }
}

void Pipeline::ExamineTask(const TaskPtr& task) {
  const std::string found =
      sanitizer_.Examine(task->result.replay.request, *task->problem,
                         task->result.status, worker_.device, task->examine_s);
  if (!found.empty()) task->result.diagnosis = found;
  deliver_(task);
}

void Pipeline::Finish(const TaskPtr& task) {
  health_.CountResult(task->result.status);
  task->undiagnosed = task->request.diagnose && IsDiagnosable(task->result);
  if (task->undiagnosed) {
    queues_.Push(Stage::kDiagnose, task);
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
  queues_.Push(Stage::kLook, std::move(task));
}

void Pipeline::RequireRoom(const Problem& problem, int repetitions) const {
  jaxkern::RequireRoom(problem, options_, repetitions, memory_bytes_);
}

Stats Pipeline::stats() const {
  Stats stats = health_.stats();
  queues_.Count(&stats);
  const Builder::Counts builds = builder_.counts();
  stats.cache_hits = builds.hits;
  stats.cache_misses = builds.misses;
  stats.cache_joined = builds.joined;
  const Cache::Counts cache = cache_.counts();
  stats.cache_evicted = cache.evicted;
  stats.cache_bytes = cache.bytes;
  const CompilerSlots::Counts compilers = builder_.compilers();
  stats.compiling = compilers.running;
  stats.compilers = compilers.limit;
  stats.starved = compilers.starved;
  return stats;
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
