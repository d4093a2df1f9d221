#include "core/runner.h"

#include <poll.h>
#include <signal.h>

#include <chrono>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "core/diagnostics.h"
#include "core/entry.h"

namespace jaxkern {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

// A CUDA context takes 0.2 s alone, but the driver makes them one at a time.
constexpr double kReadyTimeout = 60;
// For all baselines: opening cuBLAS and the like takes seconds.
constexpr double kPrepareTimeout = 60;
// Workers that a baseline may take with it: the first may have died of a full
// machine.
constexpr int kMostLosses = 2;
// After each failure to start a worker, the last of them included.
constexpr int kPausesMs[] = {100, 500, 2000, 5000, 0};
constexpr size_t kPrintedShown = 600;

Clock::time_point After(double seconds) {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(Seconds(seconds));
}

/// Where a run was when it ended.
struct Progress {
  int index = -1;     // of the case; -1: loading
  int baseline = -1;  // -1: the candidate's
  bool prepared = false;

  std::string Where(const Problem& problem) const {
    if (index < 0) return " while loading";
    const size_t i = static_cast<size_t>(index);
    return i < problem.cases.size() ? " in case " + problem.cases[i].label : "";
  }
};

void DescribeDone(const Event& done, const Problem& problem,
                  const Progress& progress, Report* report) {
  report->status = done.status;
  if (done.status == Status::kOk) return;
  report->log = CleanMessage(done.text) + "\n";
  if (done.status == Status::kLinkError) {
    report->stage = "link";
    if (done.text.find("undefined symbol: launch") != std::string::npos) {
      report->log +=
          "expected the kernel to define " + Signature(problem) + "\n";
    }
  } else if (progress.index >= 0) {
    report->log += "this happened" + progress.Where(problem) + "\n";
  }
  if (done.status == Status::kCheating) {
    report->rule = done.rule;
    report->evidence = CleanMessage(done.text);
  }
}

/// Baselines that the worker could not use.
void NoteBaselines(const Event& prepared, Report* report) {
  const std::vector<JobBaseline>& baselines = report->job.baselines;
  for (size_t i = 0; i < baselines.size() && i < prepared.notes.size(); ++i) {
    if (prepared.notes[i].empty()) continue;
    report->notes[baselines[i].name] = CleanMessage(prepared.notes[i]);
  }
}

std::string BaselineKey(const RunRequest& run, const std::string& name) {
  return run.problem->hash + " " + name;
}

/// A worker that ended without a kDone.
void DescribeEnd(const Ended& ended, const std::string& where, bool last_try,
                 Report* report) {
  report->status = Status::kRuntimeError;
  if (ended.signal == SIGKILL) {
    // Nobody but the kernel kills a worker. If it does so again, it is the
    // candidate's hunger for memory and not a neighbour's.
    report->status = last_try ? Status::kOutOfMemory : Status::kInfraError;
    report->log = "killed by the system, most likely for want of memory";
  } else if (ended.signal != 0) {
    report->log = SignalName(ended.signal);
  } else if (ended.exit_code >= 0 && ended.exit_code != kChannelLost) {
    report->log = "the process exited with code " +
                  std::to_string(ended.exit_code) +
                  " instead of returning from launch";
  } else {
    report->log = "the kernel broke the worker's channel";
  }
  report->log += where + "\n";
}

}  // namespace

Runner::Runner(WorkerSpec spec, Health* health)
    : spec_(std::move(spec)), health_(health) {}
Runner::~Runner() = default;

std::unique_ptr<WorkerProcess> Runner::Start() const {
  health_->CountWorker();
  return std::make_unique<WorkerProcess>(spec_.command, spec_.scratch,
                                         spec_.host_bytes);
}

std::string Runner::GetReady(WorkerProcess* worker) const {
  if (!worker->start_error().empty()) return worker->start_error();
  if (worker->ready) return "";
  Event event;
  const Wait wait = worker->Await(After(kReadyTimeout), spec_.cancel, &event);
  if (wait == Wait::kEvent && event.kind == Event::Kind::kReady &&
      event.status == Status::kOk) {
    const size_t line = event.text.find('\n');
    worker->ready = true;
    worker->introduction = {event.text.substr(0, line),
                            event.text.substr(line + 1)};
    return "";
  }
  worker->ReadPrinted();
  return wait == Wait::kEvent       ? event.text
         : wait == Wait::kTimedOut  ? "the worker did not become ready"
         : wait == Wait::kCancelled ? "the evaluator is ending"
                                    : "the worker died: " + worker->printed();
}

std::unique_ptr<WorkerProcess> Runner::TakeReady(bool fresh,
                                                 std::string* error) {
  if (kept_ && !fresh) return std::move(kept_);
  for (const int pause_ms : kPausesMs) {
    std::unique_ptr<WorkerProcess> worker =
        spare_ ? std::move(spare_) : Start();
    *error = GetReady(worker.get());
    room_for_spare_ |= error->empty();
    if (error->empty()) return worker;
    Retire(std::move(worker));
    pollfd cancelled = {spec_.cancel, POLLIN, 0};
    if (poll(&cancelled, 1, pause_ms) > 0) return nullptr;
  }
  health_->TakeOutOfService("no worker can be started on it: " +
                            CleanMessage(*error));
  return nullptr;
}

void Runner::StartSpare(bool wait) {
  if (!room_for_spare_) return;
  if (!spare_) spare_ = Start();
  if (!wait || GetReady(spare_.get()).empty()) return;
  // A GPU may have room for one worker only; it must not be waited for again.
  spare_.reset();
  room_for_spare_ = false;
}

Ended Runner::Retire(std::unique_ptr<WorkerProcess> worker) {
  const Ended ended = worker->Finish();
  if (ended.unkillable) {
    health_->TakeOutOfService(
        "a worker cannot be killed: a call of its driver does not return");
  }
  return ended;
}

Introduction Runner::Open() {
  auto worker = Start();
  const std::string error = GetReady(worker.get());
  if (!error.empty()) {
    throw std::invalid_argument("device: cannot be used: " +
                                CleanMessage(error));
  }
  const Introduction introduction = worker->introduction;
  (spec_.single_use ? spare_ : kept_) = std::move(worker);
  if (!spec_.single_use) StartSpare(/*wait=*/false);
  return introduction;
}

Report Runner::Execute(const RunRequest& run) {
  Report report;
  bool last_try = false;
  while (true) {
    const std::string why = health_->stats().out_of_service;
    if (!why.empty()) {
      report.log = "the device is out of service: " + why + "\n";
      return report;
    }
    report = ExecuteOnce(run, last_try);
    if (report.status != Status::kInfraError) return report;
    if (report.lost_baseline) continue;  // in the end without it
    if (last_try) return report;
    last_try = true;
    health_->CountRetry();
  }
}

std::vector<JobBaseline> Runner::ChooseBaselines(const RunRequest& run,
                                                 std::vector<int>* libraries,
                                                 Report* report) const {
  std::vector<JobBaseline> chosen;
  if (run.baselines == nullptr) return chosen;
  for (const BuiltBaseline& baseline : *run.baselines) {
    const auto losses = losses_.find(BaselineKey(run, baseline.name));
    if (!baseline.note.empty()) {
      report->notes[baseline.name] = baseline.note;
    } else if (losses != losses_.end() && losses->second.count >= kMostLosses) {
      report->notes[baseline.name] = losses->second.why;
    } else {
      chosen.push_back(
          {baseline.name, baseline.needs, baseline.calls_libraries});
      libraries->push_back(baseline.library.get());
    }
  }
  return chosen;
}

void Runner::ForgetLosses(const RunRequest& run, const Report& report) {
  for (const JobBaseline& baseline : report.job.baselines) {
    losses_.erase(BaselineKey(run, baseline.name));
  }
}

/// What fails beside the candidate may be its doing, so that says nothing about
/// either; what fails before, and with another worker again, is left out.
void Runner::DescribeBaselineFailure(const RunRequest& run, int index,
                                     bool prepared, Report* report) {
  const std::vector<JobBaseline>& baselines = report->job.baselines;
  const auto i = static_cast<size_t>(index);
  const std::string name = i < baselines.size() ? baselines[i].name : "";
  report->status = Status::kInfraError;
  report->rule = report->evidence = "";
  report->lost_baseline = !prepared;
  if (!prepared) {
    Losses& losses = losses_[BaselineKey(run, name)];
    ++losses.count;
    losses.why = report->log.substr(0, report->log.find('\n'));
  }
  report->log = "the problem's baseline " + name + " failed: " + report->log;
}

bool Runner::Follow(const RunRequest& run, bool last_try, WorkerProcess* worker,
                    Report* report) {
  auto deadline = After(kPrepareTimeout);
  Progress progress;
  Event event;
  Wait wait;
  while ((wait = worker->Await(deadline, spec_.cancel, &event)) ==
             Wait::kEvent &&
         event.kind != Event::Kind::kDone) {
    if (event.kind == Event::Kind::kPrepared && !progress.prepared) {
      progress = {-1, -1, true};
      deadline = After(run.options.timeout_s);
      NoteBaselines(event, report);
      ForgetLosses(run, *report);
    } else if (event.kind == Event::Kind::kCase) {
      progress.index = event.index;
      progress.baseline = event.baseline;
    } else if (event.kind == Event::Kind::kTimes) {
      report->timings.push_back(event.timing);
    }
  }
  worker->ReadPrinted();
  const std::string where = progress.Where(*run.problem);
  if (wait == Wait::kEvent) {
    DescribeDone(event, *run.problem, progress, report);
  } else if (wait == Wait::kTimedOut) {
    std::ostringstream log;
    log << "running took longer than "
        << (progress.prepared ? run.options.timeout_s : kPrepareTimeout) << " s"
        << where << "\n";
    report->status = Status::kTimeout;
    report->log = log.str();
  } else if (wait == Wait::kExited) {
    DescribeEnd(worker->Finish(), where, last_try, report);
  } else if (wait == Wait::kMisused) {
    report->status = worker->misuse().status;
    report->log = worker->misuse().what + where + "\n";
  }
  if (report->status == Status::kRuntimeError && !worker->printed().empty()) {
    report->log += "printed: " + CleanTail(worker->printed(), kPrintedShown);
  }
  const int baseline = progress.baseline >= 0 ? progress.baseline
                       : wait == Wait::kEvent ? event.baseline
                                              : -1;
  if (report->status != Status::kOk && baseline >= 0) {
    DescribeBaselineFailure(run, baseline, progress.prepared, report);
  } else if (!progress.prepared) {
    report->status = Status::kInfraError;  // the candidate was not there yet
  }
  return wait == Wait::kEvent && event.reusable;
}

Report Runner::ExecuteOnce(const RunRequest& run, bool last_try) {
  Report report;
  std::string error;
  std::unique_ptr<WorkerProcess> worker = TakeReady(run.fresh_process, &error);
  // A context that comes up beside a measurement would disturb it, so where
  // that takes long the next worker comes up before.
  if (worker && !spec_.single_use) {
    StartSpare(/*wait=*/run.options.repetitions > 0);
  }
  std::vector<int> libraries;
  report.job = MakeJob(*run.problem, run.options,
                       ChooseBaselines(run, &libraries, &report));
  const Job& job = report.job;
  const Fd memory = MakeWritableMemory(job.result_bytes);
  std::vector<int> descriptors = {run.library, run.problem->input_memory.get(),
                                  memory.get()};
  descriptors.insert(descriptors.end(), libraries.begin(), libraries.end());
  const auto before = run.read_clocks ? run.read_clocks() : std::nullopt;
  if (!worker || !memory || !SendJob(worker->channel(), job, descriptors)) {
    report.log = "cannot hand over to a worker: " + CleanMessage(error) + "\n";
    return report;
  }
  if (spec_.single_use) StartSpare(/*wait=*/false);

  const bool unharmed = Follow(run, last_try, worker.get(), &report);
  const auto after = before ? run.read_clocks() : std::nullopt;
  if (after) report.clocks = {*before, *after};
  const bool clean = unharmed && report.status != Status::kInfraError;
  if (clean && !spec_.single_use && !run.fresh_process) {
    worker->Forget();
    kept_ = std::move(worker);
  } else {
    // What it left running must not touch the results.
    Retire(std::move(worker));
  }
  if (report.status == Status::kOk) {
    report.results = Mapping(memory.get(), job.result_bytes, false);
    if (report.results.bytes != job.result_bytes) {
      report.status = Status::kInfraError;
      report.log = "no memory for the results\n";
    }
  }
  return report;
}

}  // namespace jaxkern
