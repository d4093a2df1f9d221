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
#include "core/native.h"
#include "core/schedule.h"
#include "core/subprocess.h"

namespace jaxkern {
namespace {

using Clock = std::chrono::steady_clock;

// A cpu worker's address space: data, and stacks for a block's threads per
// core.
constexpr int64_t kCpuWorkerMemory = int64_t{4} << 30;
constexpr int64_t kCpuWorkerMemoryPerCore = int64_t{256} << 20;
#ifdef __SANITIZE_ADDRESS__
constexpr bool kLimitMemory = false;  // its shadow reserves terabytes
#else
constexpr bool kLimitMemory = true;
#endif
constexpr int64_t kCpuWorkerFile = int64_t{64} << 20;

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
               cancel_.get()) {
  RequireAtLeast(0, "compile_workers", options_.compile_workers);
  RequireAtLeast(1, "run_workers", options_.run_workers);
  std::promise<std::string> opened;
  threads_.emplace_back([this, &opened] { RunLoop(&opened); });
  try {
    device_ = opened.get_future().get();
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
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

WorkerSpec Pipeline::MakeWorkerSpec() const {
  const bool cpu = options_.device == "cpu";
  WorkerSpec spec;
  spec.command.argv = {native_ + "/bin/jaxkern-worker",
                       "--device=" + options_.device};
  spec.command.directory = guard_.scratch();
  spec.command.environment = ScrubbedEnvironment();
  spec.command.environment.push_back("TMPDIR=" + guard_.scratch());
  for (const std::string& pair : builder_.toolchain().WorkerEnvironment()) {
    spec.command.environment.push_back(pair);
  }
  spec.command.guard = guard_.fd();
  // CUDA reserves far more address space than it uses, so there is no such
  // limit for it.
  if (cpu && kLimitMemory) {
    spec.command.memory_bytes =
        kCpuWorkerMemory + Cores() * kCpuWorkerMemoryPerCore;
  }
  if (cpu) spec.command.file_bytes = kCpuWorkerFile;
  spec.single_use = cpu;
  spec.cancel = cancel_.get();
  return spec;
}

void Pipeline::HostLoop() {
  bool check = false;
  while (const TaskPtr task = TakeHostTask(&check)) {
    if (!wanted_(task)) {
      deliver_(task);
    } else if (check) {
      CheckTask(task);
    } else {
      BuildTask(task);
    }
  }
}

void Pipeline::RunLoop(std::promise<std::string>* opened) {
  Runner runner(MakeWorkerSpec());
  if (opened != nullptr) {
    try {
      opened->set_value(runner.Open());
    } catch (...) {
      opened->set_exception(std::current_exception());
      return;
    }
  }
  while (const TaskPtr task = TakeRunTask()) {
    if (wanted_(task)) {
      RunTask(task, &runner);
    } else {
      deliver_(task);
    }
  }
}

TaskPtr Pipeline::TakeHostTask(bool* check) {
  std::unique_lock<std::mutex> lock(mutex_);
  host_work_.wait(lock, [this] {
    return stopping_ || !to_check_.empty() || !to_build_.empty();
  });
  if (stopping_) return nullptr;
  *check = !to_check_.empty();  // nearly done goes first
  std::deque<TaskPtr>& queue = *check ? to_check_ : to_build_;
  TaskPtr task = std::move(queue.front());
  queue.pop_front();
  return task;
}

TaskPtr Pipeline::TakeRunTask() {
  std::unique_lock<std::mutex> lock(mutex_);
  run_work_.wait(lock, [this] { return stopping_ || !to_run_.empty(); });
  if (stopping_) return nullptr;
  TaskPtr task = std::move(to_run_.front());
  to_run_.pop_front();
  return task;
}

void Pipeline::Push(std::deque<TaskPtr>* queue, TaskPtr task) {
  const std::lock_guard<std::mutex> lock(mutex_);
  task->queued = Clock::now();
  queue->push_back(std::move(task));
  (queue == &to_run_ ? run_work_ : host_work_).notify_one();
}

void Pipeline::BuildTask(const TaskPtr& task) {
  Result& result = task->result;
  result.device = device_;
  result.queue_s += SecondsSince(task->queued);
  const Request& request = task->request;
  const Problem& problem = *task->problem;
  for (int attempt = 0; attempt < 2; ++attempt) {
    task->build =
        builder_.Make(request.source, problem, request.compile_timeout_s);
    if (task->build.status != Status::kInfraError) break;
  }
  const Build& build = task->build;
  result.compile_s = build.compile_s;
  result.cache_hit = build.cache_hit;
  result.resources = build.resources;
  if (build.status != Status::kOk) {
    result.rule = build.rule;
    result.evidence = build.evidence;
    Fail(task, build.status, build.stage, build.log);
    return;
  }
  if (const auto offence = Inspect(build.library.get())) {
    result.rule = offence->rule;
    result.evidence = offence->evidence;
    Fail(task, Status::kCheating, "link",
         "the kernel " + offence->evidence + ", which no kernel needs\n");
    return;
  }
  if (request.repetitions > 0 && !problem.baseline.empty()) {
    task->baseline =
        builder_.Make(problem.baseline, problem, request.compile_timeout_s);
    if (task->baseline.status != Status::kOk) {
      Fail(task, Status::kInfraError, "compile",
           "the problem's baseline does not build: " + task->baseline.log);
      return;
    }
  }
  Push(&to_run_, task);
}

void Pipeline::RunTask(const TaskPtr& task, Runner* runner) {
  std::optional<DeviceLock> alone;  // before the deadline starts to run
  if (task->request.repetitions > 0) alone.emplace(device_, cancel_.get());
  task->result.queue_s += SecondsSince(task->queued);
  const auto start = Clock::now();
  RunRequest run;
  run.problem = task->problem.get();
  run.library = task->build.library.get();
  run.baseline = task->baseline.library.get();
  run.options.seed = task->seed;
  run.options.repetitions = task->request.repetitions;
  run.options.flush = task->request.flush;
  run.options.timeout_s = task->request.run_timeout_s;
  task->report = runner->Execute(run);
  task->result.run_s = SecondsSince(start);
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
  task->result.run_s += SecondsSince(start);
  deliver_(task);
}

void Pipeline::Fail(const TaskPtr& task, Status status,
                    const std::string& stage, const std::string& log) {
  task->result.status = status;
  task->result.stage = stage;
  task->result.log = log;
  deliver_(task);
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

std::string Pipeline::Describe() const {
  return device_ + "; " + builder_.toolchain().Describe() + "; cache " +
         cache_.directory();
}

}  // namespace jaxkern
