#include "core/worker_process.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <utility>

#include "core/sandbox.h"

namespace jaxkern {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr auto kWatchInterval = std::chrono::milliseconds(100);
constexpr size_t kPrintedKept = 4096;  // the end of what a candidate printed
constexpr size_t kPrintedLimit = size_t{64} << 20;
constexpr size_t kSentLimit = size_t{4} << 20;  // in words of 8 bytes
constexpr int kThreadLimit = 1024;
// From a broken channel to the process's end.
constexpr auto kEnding = std::chrono::seconds(2);

}  // namespace

WorkerProcess::WorkerProcess(Command command, const std::string& scratch,
                             int64_t host_bytes)
    : directory_(scratch + "/worker-XXXXXX"), host_bytes_(host_bytes) {
  if (mkdtemp(directory_.data()) == nullptr) {
    directory_.clear();
    start_error_ = std::string("no scratch directory: ") + std::strerror(errno);
    return;
  }
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    start_error_ = std::string("no socket: ") + std::strerror(errno);
    return;
  }
  channel_ = Fd(ends[0]);
  const Fd theirs(ends[1]);
  command.channel = theirs.get();
  command.directory = directory_;
  command.environment.push_back("TMPDIR=" + directory_);
  Spawn(command, &process_, &start_error_);
}

WorkerProcess::~WorkerProcess() { Finish(); }

Ended WorkerProcess::Finish() {
  const Ended ended = jaxkern::Finish(&process_);
  if (!directory_.empty()) RemoveTree(std::exchange(directory_, ""));
  return ended;
}

void WorkerProcess::ReadPrinted() {
  if (!process_.output) return;
  const size_t before = printed_.size();
  const bool open = Drain(process_, before + (1 << 20), &printed_);
  printed_bytes_ += printed_.size() - before;
  if (!open) process_.output.Close();
  if (printed_.size() > kPrintedKept) {
    printed_.erase(0, printed_.size() - kPrintedKept);
  }
  if (printed_bytes_ > kPrintedLimit) {
    misuse_ = {
        Status::kRuntimeError,
        "printed more than " + std::to_string(kPrintedLimit >> 20) + " MiB"};
  }
}

void WorkerProcess::Forget() {
  printed_.clear();
  printed_bytes_ = sent_words_ = 0;
}

/// The system's limit on threads would count the user's other processes too,
/// and the one on address space does not go with a GPU's driver.
void WorkerProcess::Watch() {
  std::ifstream status("/proc/" + std::to_string(process_.pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    const int64_t value = std::atoll(line.c_str() + line.find(':') + 1);
    if (line.rfind("Threads:", 0) == 0 && value > kThreadLimit) {
      misuse_ = {
          Status::kRuntimeError,
          "started more than " + std::to_string(kThreadLimit) + " threads"};
    } else if (line.rfind("RssAnon:", 0) == 0 && host_bytes_ > 0 &&
               value > host_bytes_ >> 10) {
      misuse_ = {Status::kOutOfMemory, "used more than " +
                                           std::to_string(host_bytes_ >> 20) +
                                           " MiB of the host's memory"};
    }
  }
}

bool WorkerProcess::Receive(Event* event) {
  if (!ReceiveEvent(channel_.get(), event)) return false;
  const Timing& timing = event->timing;
  sent_words_ += 1 + event->text.size() / 8 + timing.times_us.size() +
                 timing.kept.size() + timing.read.size() +
                 timing.fresh_us.size() + timing.known_us.size() +
                 event->notes.size();
  for (const auto& samples : timing.baselines_us) {
    sent_words_ += 1 + samples.size();
  }
  if (sent_words_ > kSentLimit) {
    misuse_ = {Status::kRuntimeError, "flooded the worker's channel"};
  }
  return true;
}

Wait WorkerProcess::Await(Clock::time_point deadline, int cancel,
                          Event* event) {
  auto watch = Clock::now() + kWatchInterval;
  while (true) {
    const bool exited = HasExited(process_);
    const double left = Seconds(deadline - Clock::now()).count();
    if (left <= 0 && !exited) {
      return channel_ ? Wait::kTimedOut : Wait::kExited;
    }
    // Without a pidfd, look now and then.
    const double slice =
        process_.exited ? Seconds(kWatchInterval).count() : 0.005;
    pollfd events[] = {{channel_.get(), POLLIN, 0},
                       {process_.output.get(), POLLIN, 0},
                       {process_.exited.get(), POLLIN, 0},
                       {cancel, POLLIN, 0}};
    poll(
        events, 4,
        exited ? 0 : static_cast<int>(std::clamp(left, 0.0, slice) * 1000) + 1);
    if (events[1].revents != 0) ReadPrinted();
    if ((events[3].revents & POLLIN) != 0) return Wait::kCancelled;
    if ((events[0].revents & (POLLIN | POLLHUP)) != 0) {
      if (Receive(event) && misuse_.what.empty()) return Wait::kEvent;
      channel_.Close();  // it is ending, or a candidate wrote nonsense
      deadline = std::min(deadline, Clock::now() + kEnding);
    }
    if (Clock::now() >= watch) {
      Watch();
      watch = Clock::now() + kWatchInterval;
    }
    if (!misuse_.what.empty()) return Wait::kMisused;
    if (exited) return Wait::kExited;
  }
}

}  // namespace jaxkern
