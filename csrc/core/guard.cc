#include "core/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cstdlib>
#include <cstring>
#include <set>
#include <stdexcept>
#include <vector>

#include "core/sandbox.h"

namespace jaxkern {
namespace {

/// One record: the group, negative when it is withdrawn.
bool Send(int guard, int32_t record) {
  ssize_t n;
  do {
    n = send(guard, &record, sizeof record, MSG_NOSIGNAL);
  } while (n < 0 && errno == EINTR);
  return n == sizeof record;
}

/// Reads all records there are into *groups; false at end of file.
bool Receive(std::set<pid_t>* groups) {
  int32_t record;
  while (true) {
    const ssize_t n = recv(0, &record, sizeof record, MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == EAGAIN;
    if (n == 0) return false;
    if (record > 0) {
      groups->insert(record);
    } else {
      groups->erase(-record);
    }
  }
}

std::string MakeScratch() {
  const char* base = std::getenv("TMPDIR");
  std::string path =
      std::string(base != nullptr && *base != '\0' ? base : "/tmp") +
      "/jaxkern-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) {
    throw std::runtime_error("cannot make a scratch directory " + path + ": " +
                             std::strerror(errno));
  }
  return path;
}

/// Starts the guard in a session of its own, so that a Ctrl-C in the terminal
/// does not reach it. Not by Spawn(): the guard must survive its parent.
pid_t StartGuard(const std::string& program, const std::string& scratch,
                 int socket) {
  const std::string evaluator = std::to_string(getpid());
  char* const argv[] = {const_cast<char*>(program.c_str()),
                        const_cast<char*>(scratch.c_str()),
                        const_cast<char*>(evaluator.c_str()), nullptr};
  char* const environment[] = {nullptr};
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, socket, 0);
  posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, program.c_str(), &files, &attributes,
                                argv, environment);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    throw std::runtime_error("cannot start " + program + ": " +
                             std::strerror(error));
  }
  return pid;
}

}  // namespace

bool AnnounceGroup(int guard, pid_t group) { return Send(guard, group); }
bool WithdrawGroup(int guard, pid_t group) { return Send(guard, -group); }

Guard::Guard(const std::string& native_directory) : scratch_(MakeScratch()) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    throw std::runtime_error(std::string("no descriptors left: ") +
                             std::strerror(errno));
  }
  const Fd read_end(ends[0]);
  socket_ = Fd(ends[1]);
  pid_ = StartGuard(native_directory + "/bin/jaxkern-guard", scratch_,
                    read_end.get());
}

Guard::~Guard() {
  socket_.Close();
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

int GuardMain(const std::string& scratch, pid_t evaluator) {
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) {
    ::signal(signal, SIG_IGN);
  }
  syscall(SYS_close_range, 3, ~0U, 0);
  // The socket alone would not do: a process forked from the evaluator without
  // executing anything (Python's multiprocessing) keeps its end open.
  const Fd parent(static_cast<int>(syscall(SYS_pidfd_open, evaluator, 0)));
  std::set<pid_t> groups;
  pollfd events[] = {{0, POLLIN, 0}, {parent.get(), POLLIN, 0}};
  bool alive = getppid() == evaluator;
  while (alive) {
    poll(events, 2, -1);
    alive = Receive(&groups) && (events[1].revents & POLLIN) == 0;
  }
  Receive(&groups);
  for (pid_t group : groups) kill(-group, SIGKILL);
  // Those that die may still be creating files.
  for (int attempt = 0; attempt < 100 && !RemoveTree(scratch); ++attempt) {
    usleep(10000);
  }
  return 0;
}

}  // namespace jaxkern
