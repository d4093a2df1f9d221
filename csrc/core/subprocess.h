/// Child processes with deadlines.
///
/// Every child leads its own process group, so that a deadline reaches the
/// compilers and shells it started too. Spawning is safe in a large program
/// with many threads (a JAX trainer): the child shares the parent's memory only
/// until it executes, and does nothing but system calls there.
#ifndef JAXKERN_CORE_SUBPROCESS_H_
#define JAXKERN_CORE_SUBPROCESS_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/fd.h"

namespace jaxkern {

/// What to start and within which bounds; 0 means unlimited.
struct Command {
  std::vector<std::string> argv;         ///< argv[0] is looked up in PATH
  std::string directory;                 ///< working directory; "": ours
  std::vector<std::string> environment;  ///< all of it, as "NAME=value"
  int64_t memory_bytes = 0;              ///< address space of each process
  int64_t file_bytes = 0;                ///< of any file it writes
  int cpu_s = 0;                         ///< processor time of each process
  int open_files = 0;                    ///< descriptors of each process
  int channel = -1;  ///< a descriptor of ours that becomes the child's 3
  int guard = -1;    ///< where to announce its process group; see guard.h
  int ruleset = -1;  ///< that it is put under; see sandbox.h
};

/// A running child. Its stdout and stderr arrive together in `output`.
struct Subprocess {
  pid_t pid = -1;  ///< also its process group; -1: none
  Fd exited;       ///< readable once the child has exited
  Fd output;
  int guard = -1;
  int error = 0;  ///< errno of a start that failed
};

/// How a child ended.
struct Ended {
  bool timed_out = false;
  bool cancelled = false;
  bool unkillable = false;  ///< SIGKILL did not end it: a driver holds it
  int exit_code = -1;       ///< -1: it did not exit by itself
  int signal = 0;           ///< the signal that ended it, or 0
  std::string output;       ///< capped
  bool starved = false;     ///< spawn_error: no process or memory was left
  std::string spawn_error;  ///< why there never was a child; "" if there was
};

/// Starts a child with core dumps off, default signal handling, no descriptors
/// but 0 (/dev/null), 1, 2 and `channel`. It dies with the calling *thread*
/// at the latest, so call it from a thread that lives as long. Returns false
/// and sets *error if it could not be started.
bool Spawn(const Command& command, Subprocess* child, std::string* error);

/// True once the child has ended, reaped or not.
bool HasExited(const Subprocess& child);

/// Kills the child's whole group, reaps the child and forgets it. The result
/// tells how the child ended if that had happened before. A child that even
/// SIGKILL does not end within 30 s is left to the guard.
Ended Finish(Subprocess* child);

/// Moves some of what `child` has printed into *output without blocking,
/// keeping the first `cap` bytes. False once the child has closed its end.
bool Drain(const Subprocess& child, size_t cap, std::string* output);

/// Runs a command to its end, or to the deadline, or until `cancel` (-1: none)
/// becomes readable; the group is killed in any case.
Ended Run(const Command& command, double timeout_s, size_t output_cap = 1 << 18,
          int cancel = -1);

/// What a command prints; "" if it fails or takes longer than 30 s.
std::string Probe(const std::vector<std::string>& argv);

/// The part of our environment that compilers and devices need (PATH,
/// LD_LIBRARY_PATH, CUDA_*, NVIDIA_*, JAXKERN_*, ...), with LC_ALL=C.
std::vector<std::string> ScrubbedEnvironment();

/// "segmentation fault" for SIGSEGV; "signal 42" for what has no name here.
std::string SignalName(int signal);

}  // namespace jaxkern

#endif  // JAXKERN_CORE_SUBPROCESS_H_
