/// One client of `jaxkern-eval --serve`: request lines in, result lines out.
#ifndef JAXKERN_CLI_SESSION_H_
#define JAXKERN_CLI_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "jaxkern/evaluator.h"

namespace jaxkern {

/// How much of one client is held in memory at most. At a limit nothing more
/// is read from it until it has read some of its results.
struct SessionLimits {
  size_t requests = 256;  ///< read, their lines not yet written
  size_t line_bytes = size_t{4} << 20;
  size_t held_bytes = size_t{64} << 20;  ///< of requests and unwritten lines
};

class Session {
 public:
  enum class Ended {
    kAnswered,  ///< every request that was read
    kGone,      ///< the client reads no more
    kStopped    ///< with requests not yet answered
  };

  /// The descriptors stay the caller's; `out` may be the same as `in`.
  Session(Evaluator* evaluator, const Request& defaults, int in, int out,
          const SessionLimits& limits = {});
  ~Session();  ///< Abandons what is not answered.
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Serves until the input has ended and all of it is answered, the client is
  /// gone, or `stop` becomes readable.
  Ended Run(int stop);

 private:
  struct Outbox;

  bool Idle() const;
  bool HasRoom() const;
  void Collect();
  void Read();
  void HandleLines();
  bool TakeLine(std::string* line);
  void Handle(const std::string& line);
  void Answer(std::string line);
  bool Write();

  Evaluator* const evaluator_;
  const Request defaults_;
  const int in_, out_;
  const SessionLimits limits_;

  std::string input_;      // read
  size_t taken_ = 0;       // bytes of it that are handled
  bool skipping_ = false;  // the rest of a line that is too long
  bool ended_ = false;     // the input
  uint64_t count_ = 0;
  std::map<uint64_t, uint64_t> running_;  // count -> ticket
  std::deque<std::string> lines_;         // to be written
  size_t written_ = 0;                    // bytes of the first
  size_t held_ = 0;
  std::shared_ptr<Outbox> outbox_;
};

}  // namespace jaxkern

#endif  // JAXKERN_CLI_SESSION_H_
