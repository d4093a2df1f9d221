/// No orphans: a guard process outlives its evaluator just long enough to kill
/// what the evaluator left behind when it was killed itself.
///
/// The guard holds one end of a socket. Every child announces its process
/// group on it before it executes anything, and the evaluator withdraws the
/// group once it is dead. When the evaluator has gone (end of file, or its
/// pidfd becomes readable), the guard kills every group still announced,
/// removes the scratch directory and exits.
#ifndef JAXKERN_CORE_GUARD_H_
#define JAXKERN_CORE_GUARD_H_

#include <sys/types.h>

#include <string>

#include "core/fd.h"

namespace jaxkern {

/// Both are single sends of a few bytes, safe between clone and exec and from
/// any thread. False if nobody reads any more.
bool AnnounceGroup(int guard, pid_t group);
bool WithdrawGroup(int guard, pid_t group);

/// Owns the scratch directory and the guard that watches it.
class Guard {
 public:
  /// Throws std::runtime_error if the directory or the process cannot be made.
  explicit Guard(const std::string& native_directory);
  ~Guard();  ///< Lets the guard process do its work and waits for it.
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  int fd() const { return socket_.get(); }
  const std::string& scratch() const { return scratch_; }

 private:
  std::string scratch_;
  Fd socket_;
  pid_t pid_ = -1;
};

/// The guard's own main; returns its exit code. Descriptor 0 is the socket.
int GuardMain(const std::string& scratch, pid_t evaluator);

}  // namespace jaxkern

#endif  // JAXKERN_CORE_GUARD_H_
