/// One worker process as the evaluator sees it: its channel, what it printed,
/// and a watch on what it takes.
#ifndef JAXKERN_CORE_WORKER_PROCESS_H_
#define JAXKERN_CORE_WORKER_PROCESS_H_

#include <chrono>
#include <string>

#include "core/fd.h"
#include "core/protocol.h"
#include "core/subprocess.h"

namespace jaxkern {

/// With what a worker exits that finds its channel gone after a job.
inline constexpr int kChannelLost = 112;

/// Why Await returned.
enum class Wait { kEvent, kExited, kTimedOut, kCancelled, kMisused };

/// What a candidate does with its worker that no kernel should.
struct Misuse {
  Status status = Status::kOk;
  std::string what;
};

/// What a worker says of itself before its first job.
struct Introduction {
  std::string device;
  std::string sandbox;  ///< which protections are in force
};

class WorkerProcess {
 public:
  using Clock = std::chrono::steady_clock;

  /// Starts `command` in a directory of its own below `scratch`. If that fails,
  /// start_error says why. `host_bytes` is the memory that it may come to use,
  /// beyond which it is misused; 0: no such limit.
  WorkerProcess(Command command, const std::string& scratch,
                int64_t host_bytes);
  ~WorkerProcess();  ///< Finish()
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  /// The next event, if it comes before the deadline. kMisused: what runs there
  /// prints, sends, allocates or starts threads without end; see misuse.
  Wait Await(Clock::time_point deadline, int cancel, Event* event);

  /// Takes what there is to read of its output.
  void ReadPrinted();

  /// Before another job: what the last one printed and sent does not count.
  void Forget();

  /// Kills it with all it started and removes its directory; how it ended if
  /// that had happened before.
  Ended Finish();

  int channel() const { return channel_.get(); }
  const std::string& start_error() const { return start_error_; }
  const std::string& printed() const { return printed_; }  ///< its end
  const Misuse& misuse() const { return misuse_; }

  bool ready = false;  ///< it has introduced itself
  Introduction introduction;

 private:
  bool Receive(Event* event);
  void Watch();

  Subprocess process_;
  Fd channel_;
  std::string directory_;
  std::string start_error_;
  std::string printed_;
  Misuse misuse_;
  const int64_t host_bytes_;
  size_t printed_bytes_ = 0, sent_words_ = 0;
};

}  // namespace jaxkern

#endif  // JAXKERN_CORE_WORKER_PROCESS_H_
