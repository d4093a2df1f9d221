#include "cli/session.h"

#include <limits.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <utility>
#include <vector>

#include "cli/request_line.h"
#include "core/fd.h"

namespace jaxkern {

/// Where the evaluator's threads leave results; outlives the session if they
/// are late.
struct Session::Outbox {
  struct Finished {
    uint64_t number;
    size_t request_bytes;
    std::string line;
  };

  void Put(Finished one) {
    const std::lock_guard<std::mutex> lock(mutex);
    finished.push_back(std::move(one));
    eventfd_write(wake.get(), 1);
  }

  std::mutex mutex;
  std::vector<Finished> finished;
  const Fd wake{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
};

Session::Session(Evaluator* evaluator, const Request& defaults, int in, int out,
                 const SessionLimits& limits)
    : evaluator_(evaluator),
      defaults_(defaults),
      in_(in),
      out_(out),
      limits_(limits),
      outbox_(std::make_shared<Outbox>()) {}

Session::~Session() {
  for (const auto& [number, ticket] : running_) evaluator_->Abandon(ticket);
}

Session::Ended Session::Run(int stop) {
  while (true) {
    Collect();
    HandleLines();
    if (ended_ && Idle()) return Ended::kAnswered;
    // A descriptor that is not waited for is left out: its hang-up would be
    // reported again and again. That of `out` means that nobody reads.
    const bool reads = !ended_ && HasRoom();
    pollfd events[] = {
        {stop, POLLIN, 0},
        {outbox_->wake.get(), POLLIN, 0},
        {out_, static_cast<int16_t>(lines_.empty() ? 0 : POLLOUT), 0},
        {reads ? in_ : -1, POLLIN, 0}};
    if (poll(events, 4, -1) < 0) continue;  // EINTR
    if (events[0].revents != 0) {
      return Idle() ? Ended::kAnswered : Ended::kStopped;
    }
    if ((events[2].revents & (POLLERR | POLLHUP)) != 0) return Ended::kGone;
    if ((events[2].revents & POLLOUT) != 0 && !Write()) return Ended::kGone;
    if (events[3].revents != 0) Read();
  }
}

bool Session::Idle() const {
  return taken_ == input_.size() && running_.empty() && lines_.empty();
}

bool Session::HasRoom() const {
  return running_.size() + lines_.size() < limits_.requests &&
         held_ < limits_.held_bytes;
}

void Session::Collect() {
  eventfd_t count;
  eventfd_read(outbox_->wake.get(), &count);
  std::vector<Outbox::Finished> finished;
  {
    const std::lock_guard<std::mutex> lock(outbox_->mutex);
    finished.swap(outbox_->finished);
  }
  for (Outbox::Finished& one : finished) {
    running_.erase(one.number);
    held_ -= one.request_bytes;
    Answer(std::move(one.line));
  }
}

void Session::Read() {
  input_.erase(0, std::exchange(taken_, 0));  // not line by line
  char chunk[1 << 16];
  const ssize_t n = read(in_, chunk, sizeof chunk);
  if (n > 0) {
    input_.append(chunk, static_cast<size_t>(n));
  } else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
    ended_ = true;
  }
}

void Session::HandleLines() {
  std::string line;
  while (HasRoom() && TakeLine(&line)) {
    if (line.find_first_not_of(" \t\r") != std::string::npos) Handle(line);
  }
}

/// The next whole line, without its end; at the end of the input also what is
/// left. Lines that are too long are answered and skipped.
bool Session::TakeLine(std::string* line) {
  while (true) {
    const size_t end = input_.find('\n', taken_);
    const bool whole = end != std::string::npos;
    const size_t size = (whole ? end : input_.size()) - taken_;
    if (!whole && size <= limits_.line_bytes && !(ended_ && size > 0)) {
      if (skipping_) taken_ = input_.size();
      return false;
    }
    const bool skipped = std::exchange(skipping_, false);
    *line = input_.substr(taken_, size);
    taken_ += whole ? size + 1 : size;
    if (!whole && !ended_) skipping_ = true;
    if (skipped) continue;
    if (size <= limits_.line_bytes) return true;
    Answer(ErrorLine("null", "expected lines of at most " +
                                 std::to_string(limits_.line_bytes) +
                                 " bytes, got a longer one"));
  }
}

void Session::Handle(const std::string& text) {
  RequestLine line = ParseRequestLine(text, defaults_, limits_.line_bytes);
  if (!line.error.empty()) return Answer(ErrorLine(line.id, line.error));
  const uint64_t number = ++count_;
  const size_t bytes = line.request.source.size();
  try {
    running_[number] = evaluator_->Submit(
        line.request,
        [outbox = outbox_, number, bytes, id = line.id](const Result& result) {
          outbox->Put({number, bytes, ResultLine(id, result)});
        });
    held_ += bytes;
  } catch (const std::exception& error) {  // a bundle may be as it likes
    Answer(ErrorLine(line.id, error.what()));
  }
}

void Session::Answer(std::string line) {
  held_ += line.size();
  lines_.push_back(std::move(line));
}

/// Writes what can be written without waiting. False if nobody reads.
bool Session::Write() {
  const std::string& line = lines_.front();
  const char* data = line.data() + written_;
  const size_t size = line.size() - written_;
  ssize_t n = send(out_, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
  // A pipe that is ready takes this much at once.
  if (n < 0 && errno == ENOTSOCK) {
    n = write(out_, data, std::min<size_t>(size, PIPE_BUF));
  }
  if (n < 0) return errno == EINTR || errno == EAGAIN;
  written_ += static_cast<size_t>(n);
  if (written_ < line.size()) return true;
  held_ -= line.size();
  written_ = 0;
  lines_.pop_front();
  return true;
}

}  // namespace jaxkern
