/// What a worker or a compiler gives up before it touches a candidate.
///
/// Each protection is used where the kernel has it and named in what the
/// evaluator says of itself; docs/evaluator.md lists what none of them stops.
#ifndef JAXKERN_CORE_SANDBOX_H_
#define JAXKERN_CORE_SANDBOX_H_

#include <string>
#include <vector>

#include "core/fd.h"

namespace jaxkern {

/// Whether the evaluator's $JAXKERN_WITHOUT names a protection: "landlock" or
/// "seccomp", to see what the other holds.
bool IsLeftOut(const std::string& protection);

/// The files a process may use: those named and everything below them. What
/// does not exist is passed over.
struct FileAccess {
  std::vector<std::string> readable;  ///< and executable
  std::vector<std::string> writable;  ///< files, but no programs to execute
  bool devices = false;  ///< commands (ioctl) to devices may be sent
};

/// A Landlock ruleset that allows just this, and neither TCP nor signals to the
/// world outside, as far as the kernel's version goes. No descriptor where
/// there is no Landlock.
Fd MakeRuleset(const FileAccess& access);

/// Puts the calling thread, and what it starts, under the ruleset for good.
/// Two system calls: safe between clone and exec. False if that failed.
bool EnterRuleset(int ruleset);

/// Where programs and libraries of the system lie, with the directories in
/// $LD_LIBRARY_PATH and $PATH.
std::vector<std::string> SystemFiles();

/// What a worker needs besides the libraries that it was loaded from: `scratch`
/// to write in, and on a GPU what the driver needs to start.
FileAccess WorkerAccess(const std::string& scratch, bool driver);

/// Gives up every capability, for good, and tells the system to take this
/// process first when memory runs out. False if capabilities are kept.
bool GiveUpPrivileges();

/// Gives up, in the worker's process, all that candidates must not have: only
/// `scratch` stays writable, only libraries readable. On a GPU the `driver`
/// keeps its devices. Returns what is in force, e.g. "no privileges, files
/// (Landlock 7), system calls (seccomp)".
std::string EnterSandbox(const std::string& scratch, bool driver);

/// Removes a directory that a candidate has written in, whatever permissions
/// it left there. False if something remains.
bool RemoveTree(const std::string& directory);

}  // namespace jaxkern

#endif  // JAXKERN_CORE_SANDBOX_H_
