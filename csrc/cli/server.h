/// `jaxkern-eval --serve`: sessions on stdin/stdout or on a Unix socket.
#ifndef JAXKERN_CLI_SERVER_H_
#define JAXKERN_CLI_SERVER_H_

#include <functional>
#include <memory>
#include <string>

#include "core/fd.h"
#include "jaxkern/evaluator.h"

namespace jaxkern {

/// A readable descriptor once SIGTERM, SIGINT or SIGHUP has come; they do
/// nothing else from now on. To be called before there are other threads.
Fd CatchStop();

/// A listening Unix socket that only this user can reach, removed in the end.
class Listener {
 public:
  /// Replaces a socket that nobody serves any more. Throws
  /// std::invalid_argument if something else is there.
  explicit Listener(const std::string& path);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  int fd() const { return socket_.get(); }

 private:
  const std::string path_;
  Fd socket_;
  std::string identity_;  // of the file, so that no other is removed
};

/// Runs `session` on a thread of its own for every client, with the client's
/// descriptor, until `stop` is readable; then waits for all of them.
void ServeSocket(const Listener& listener, int stop,
                 const std::function<void(int client)>& session);

}  // namespace jaxkern

#endif  // JAXKERN_CLI_SERVER_H_
