/// Which system calls a worker may make once candidate code can run in it.
///
/// A list of what is refused, since drivers and C libraries differ in what they
/// need; calls newer than the list are refused too. What no kernel has business
/// with (processes, programs, sockets, sessions, signals to others) ends the
/// process with SIGSYS after a line that names the call; what a library may try
/// in good faith fails with an error.
#ifndef JAXKERN_CORE_SECCOMP_H_
#define JAXKERN_CORE_SECCOMP_H_

#include <string>

namespace jaxkern {

/// For good, for all threads of this process. "" if it is in force, else why
/// not. `driver` leaves what a GPU's driver may need: anonymous files, the
/// affinity of threads.
std::string RefuseSystemCalls(bool driver);

}  // namespace jaxkern

#endif  // JAXKERN_CORE_SECCOMP_H_
