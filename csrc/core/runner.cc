#include "core/runner.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstring>
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
constexpr size_t kPrintedBytes = 4096;  // the end of what a candidate printed
constexpr size_t kPrintedShown = 600;

Clock::time_point After(double seconds) {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(Seconds(seconds));
}

enum class Wait { kEvent, kExited, kTimedOut, kCancelled };

/// Where a run was when it ended.
struct Progress {
  int index = -1;  // of the case; -1: loading
  bool baseline = false;

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
  } else if (ended.exit_code >= 0) {
    report->log = "the process exited with code " +
                  std::to_string(ended.exit_code) +
                  " instead of returning from launch";
  } else {
    report->log = "the kernel broke the worker's channel";
  }
  report->log += where + "\n";
}

}  // namespace

struct Runner::Worker {
  Subprocess process;
  Fd channel;
  bool ready = false;
  std::string device;
  std::string printed;  // its end
  std::string start_error;

  ~Worker() { Finish(&process); }

  void ReadPrinted() {
    if (!process.output) return;
    const bool open = Drain(process, printed.size() + (1 << 20), &printed);
    if (!open) process.output.Close();
    if (printed.size() > kPrintedBytes) {
      printed.erase(0, printed.size() - kPrintedBytes);
    }
  }

  /// The next event, if it comes before the deadline.
  Wait Await(Clock::time_point deadline, int cancel, Event* event) {
    while (true) {
      const double left = Seconds(deadline - Clock::now()).count();
      // Without a pidfd, look now and then.
      const double slice = process.exited ? 60 : 0.005;
      pollfd events[] = {{channel.get(), POLLIN, 0},
                         {process.output.get(), POLLIN, 0},
                         {process.exited.get(), POLLIN, 0},
                         {cancel, POLLIN, 0}};
      const bool exited = HasExited(process);
      poll(events, 4,
           exited ? 0
                  : static_cast<int>(std::clamp(left, 0.0, slice) * 1000) + 1);
      if (events[1].revents != 0) ReadPrinted();
      if ((events[3].revents & POLLIN) != 0) return Wait::kCancelled;
      if ((events[0].revents & (POLLIN | POLLHUP)) != 0) {
        if (ReceiveEvent(channel.get(), event)) return Wait::kEvent;
        channel.Close();  // it is ending, or a candidate wrote nonsense
        deadline = std::min(deadline, Clock::now() + std::chrono::seconds(2));
      }
      if (exited) return Wait::kExited;
      if (left <= 0) return channel ? Wait::kTimedOut : Wait::kExited;
    }
  }
};

Runner::Runner(WorkerSpec spec) : spec_(std::move(spec)) {}
Runner::~Runner() = default;

std::unique_ptr<Runner::Worker> Runner::Start() const {
  auto worker = std::make_unique<Worker>();
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    worker->start_error = std::string("no socket: ") + std::strerror(errno);
    return worker;
  }
  worker->channel = Fd(ends[0]);
  const Fd theirs(ends[1]);
  Command command = spec_.command;
  command.channel = theirs.get();
  Spawn(command, &worker->process, &worker->start_error);
  return worker;
}

std::unique_ptr<Runner::Worker> Runner::TakeReady(std::string* error) {
  std::unique_ptr<Worker> worker = spare_ ? std::move(spare_) : Start();
  if (!worker->start_error.empty()) {
    *error = worker->start_error;
    return nullptr;
  }
  if (worker->ready) return worker;
  Event event;
  const Wait wait = worker->Await(After(kReadyTimeout), spec_.cancel, &event);
  if (wait == Wait::kEvent && event.kind == Event::Kind::kReady &&
      event.status == Status::kOk) {
    worker->ready = true;
    worker->device = event.text;
    return worker;
  }
  worker->ReadPrinted();
  *error = wait == Wait::kEvent      ? event.text
           : wait == Wait::kTimedOut ? "the worker did not become ready"
                                     : "the worker died: " + worker->printed;
  return nullptr;
}

std::string Runner::Open() {
  std::string error;
  spare_ = TakeReady(&error);
  if (!spare_) {
    throw std::invalid_argument("device: cannot be used: " +
                                CleanMessage(error));
  }
  return spare_->device;
}

Report Runner::Execute(const RunRequest& run) {
  Report report = ExecuteOnce(run, /*last_try=*/false);
  if (report.status == Status::kInfraError) {
    report = ExecuteOnce(run, /*last_try=*/true);
  }
  return report;
}

bool Runner::Follow(const RunRequest& run, bool last_try, Worker* worker,
                    Report* report) {
  const auto deadline = After(run.options.timeout_s);
  Progress progress;
  Event event;
  Wait wait;
  while ((wait = worker->Await(deadline, spec_.cancel, &event)) ==
             Wait::kEvent &&
         event.kind != Event::Kind::kDone) {
    if (event.kind == Event::Kind::kCase) {
      progress = {event.index, event.baseline};
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
    log << "running took longer than " << run.options.timeout_s << " s" << where
        << "\n";
    report->status = Status::kTimeout;
    report->log = log.str();
  } else if (wait == Wait::kExited) {
    DescribeEnd(Finish(&worker->process), where, last_try, report);
  }
  if (report->status == Status::kRuntimeError && !worker->printed.empty()) {
    report->log += "printed: " + CleanTail(worker->printed, kPrintedShown);
  }
  const bool baseline =
      progress.baseline || (wait == Wait::kEvent && event.baseline);
  if (report->status != Status::kOk && baseline) {
    report->status = Status::kInfraError;
    report->log = "the problem's baseline failed: " + report->log;
  }
  return wait == Wait::kEvent && event.reusable;
}

Report Runner::ExecuteOnce(const RunRequest& run, bool last_try) {
  Report report;
  std::string error;
  std::unique_ptr<Worker> worker = TakeReady(&error);
  report.job = MakeJob(*run.problem, run.options);
  const Job& job = report.job;
  const Fd memory = MakeWritableMemory(job.result_bytes);
  std::vector<int> descriptors = {run.library, run.problem->input_memory.get(),
                                  memory.get()};
  if (run.baseline >= 0) descriptors.push_back(run.baseline);
  if (!worker || !memory || !SendJob(worker->channel.get(), job, descriptors)) {
    report.log = "cannot hand over to a worker: " + CleanMessage(error) + "\n";
    return report;
  }
  if (spec_.single_use) spare_ = Start();  // it gets ready meanwhile

  const bool reusable = Follow(run, last_try, worker.get(), &report);
  if (reusable && !spec_.single_use) {
    worker->printed.clear();
    spare_ = std::move(worker);
  } else {
    worker.reset();  // what it left running must not touch the results
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
