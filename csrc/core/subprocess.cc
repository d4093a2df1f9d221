#include "core/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "core/guard.h"
#include "core/sandbox.h"

namespace jaxkern {
namespace {

constexpr int kChannel = 3;
constexpr int kFirstFree = 16;  // our copies lie above the child's 0-3
constexpr size_t kStackBytes = 64 << 10;
constexpr auto kKillTimeout = std::chrono::seconds(30);

#ifdef __SANITIZE_THREAD__
// ThreadSanitizer takes every clone for a fork: in the child it declares all
// other threads dead, stops following locks and notes the dup2 and sigaction
// that it sees. In shared memory that would be our own books, so the child
// gets a copy of them, as it does in a fork.
constexpr int kSharing = CLONE_VFORK;
#else
constexpr int kSharing = CLONE_VM | CLONE_VFORK;
#endif

/// All the child needs, made ready before it exists: between clone and exec it
/// must not allocate or take a lock.
struct ChildPlan {
  char* const* argv;
  char* const* environment;
  const char* program;
  const char* directory;
  const Command* command;
  int input, output, channel, guard, ruleset;
  pid_t parent;
  int* error;  // errno of the step that failed, in memory that both have
};

int SetLimit(int resource, int64_t value) {
  const rlimit limit = {static_cast<rlim_t>(value), static_cast<rlim_t>(value)};
  return setrlimit(static_cast<__rlimit_resource_t>(resource), &limit);
}

void ResetSignals() {
  struct sigaction fallback = {};
  fallback.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) {
    sigaction(signal, &fallback, nullptr);  // fails for SIGKILL: no matter
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

bool PrepareChild(const ChildPlan& plan) {
  const Command& command = *plan.command;
  if (setpgid(0, 0) != 0) return false;
  if (plan.guard >= 0 && !AnnounceGroup(plan.guard, getpid())) return false;
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return false;
  if (getppid() != plan.parent) return false;  // it died before the prctl
  SetLimit(RLIMIT_CORE, 0);
  if (command.memory_bytes > 0) SetLimit(RLIMIT_AS, command.memory_bytes);
  if (command.file_bytes > 0) SetLimit(RLIMIT_FSIZE, command.file_bytes);
  if (command.cpu_s > 0) SetLimit(RLIMIT_CPU, command.cpu_s);
  if (command.open_files > 0) SetLimit(RLIMIT_NOFILE, command.open_files);
  if (dup2(plan.input, 0) < 0 || dup2(plan.output, 1) < 0 ||
      dup2(plan.output, 2) < 0) {
    return false;
  }
  if (plan.channel >= 0 && dup2(plan.channel, kChannel) < 0) return false;
  if (plan.ruleset >= 0 && !EnterRuleset(plan.ruleset)) return false;
  // What other code in this process opened without O_CLOEXEC.
  const int first = plan.channel >= 0 ? kChannel + 1 : kChannel;
  syscall(SYS_close_range, first, ~0U, 0);
  if (plan.directory != nullptr && chdir(plan.directory) != 0) return false;
  ResetSignals();
  return true;
}

int ChildMain(void* argument) {
  auto* plan = static_cast<ChildPlan*>(argument);
  if (PrepareChild(*plan)) {
    execve(plan->program, plan->argv, plan->environment);
  }
  *plan->error = errno != 0 ? errno : ECHILD;
  _exit(127);
}

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& s : strings) {
    pointers.push_back(const_cast<char*>(s.c_str()));
  }
  pointers.push_back(nullptr);
  return pointers;
}

std::string FindProgram(const std::string& name) {
  const char* path = std::getenv("PATH");
  if (name.find('/') != std::string::npos || path == nullptr) return name;
  for (const char* p = path; *p != '\0';) {
    const char* end = strchrnul(p, ':');
    const std::string candidate = std::string(p, end) + "/" + name;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
    p = *end == ':' ? end + 1 : end;
  }
  return name;
}

/// A copy that cannot collide with the numbers the child's own get.
Fd HighCopy(int fd) { return Fd(fcntl(fd, F_DUPFD_CLOEXEC, kFirstFree)); }

/// The child's number; -1 and errno if there is none. *error is why it could
/// not execute the program, or 0.
pid_t CloneChild(ChildPlan* plan, int* error) {
  // The child's stack, with the error at the end that it does not reach.
  void* shared = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return -1;
  plan->error = static_cast<int*>(shared);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // no handler runs in the child
  errno = 0;
  const pid_t pid = clone(ChildMain, static_cast<char*>(shared) + kStackBytes,
                          kSharing | SIGCHLD, plan);
  const int cause = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  *error = *plan->error;
  munmap(shared, kStackBytes);
  errno = cause;
  return pid;
}

using Clock = std::chrono::steady_clock;

/// Milliseconds left for poll(), rounded up.
int RemainingMs(Clock::time_point deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
  return static_cast<int>(
      std::clamp<int64_t>(left.count(), 0, int64_t{1} << 30));
}

/// Whether a child that was killed has ended in time.
bool Ends(const Subprocess& child) {
  const auto deadline = Clock::now() + kKillTimeout;
  while (!HasExited(child)) {
    if (Clock::now() >= deadline) return false;
    pollfd exit = {child.exited.get(), POLLIN, 0};
    poll(&exit, 1, child.exited ? RemainingMs(deadline) : 5);
  }
  return true;
}

}  // namespace

bool Spawn(const Command& command, Subprocess* child, std::string* error) {
  const std::string program = FindProgram(command.argv.at(0));
  const std::vector<char*> argv = Pointers(command.argv);
  const std::vector<char*> environment = Pointers(command.environment);
  int ends[2];
  Fd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!null || pipe2(ends, O_CLOEXEC) != 0) {
    *error = std::string("no descriptors left: ") + std::strerror(errno);
    return false;
  }
  Fd output(ends[0]), write_end(ends[1]);
  fcntl(output.get(), F_SETFL, O_NONBLOCK);
  const Fd input = HighCopy(null.get()), high = HighCopy(write_end.get()),
           guard = HighCopy(command.guard), channel = HighCopy(command.channel),
           ruleset = HighCopy(command.ruleset);
  ChildPlan plan{
      argv.data(),
      environment.data(),
      program.c_str(),
      command.directory.empty() ? nullptr : command.directory.c_str(),
      &command,
      input.get(),
      high.get(),
      channel.get(),
      guard.get(),
      ruleset.get(),
      getpid(),
      nullptr};
  int failed = 0;
  const pid_t pid = CloneChild(&plan, &failed);
  if (pid < 0 || failed != 0) {
    const int cause = pid < 0 ? errno : failed;
    if (pid > 0) {
      waitpid(pid, nullptr, 0);
      if (command.guard >= 0) WithdrawGroup(command.guard, pid);
    }
    child->error = cause;
    *error = "cannot start " + program + ": " + std::strerror(cause);
    return false;
  }
  child->pid = pid;
  child->output = std::move(output);
  child->guard = command.guard;
  child->exited = Fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  return true;
}

bool HasExited(const Subprocess& child) {
  siginfo_t info = {};
  return waitid(P_PID, static_cast<id_t>(child.pid), &info,
                WEXITED | WNOHANG | WNOWAIT) != 0 ||
         info.si_pid == child.pid;
}

Ended Finish(Subprocess* child) {
  Ended ended;
  if (child->pid < 0) return ended;
  const bool exited = HasExited(*child);
  // The child stays unreaped until its group is dead and withdrawn, so that the
  // number cannot meanwhile belong to somebody else.
  kill(-child->pid, SIGKILL);
  if (!Ends(*child)) {
    ended.unkillable = true;
    *child = Subprocess();
    return ended;
  }
  siginfo_t info = {};
  waitid(P_PID, static_cast<id_t>(child->pid), &info,
         WEXITED | WNOHANG | WNOWAIT);
  if (child->guard >= 0) WithdrawGroup(child->guard, child->pid);
  while (waitpid(child->pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (exited && info.si_code == CLD_EXITED) ended.exit_code = info.si_status;
  if (exited && info.si_code != CLD_EXITED) ended.signal = info.si_status;
  *child = Subprocess();
  return ended;
}

bool Drain(const Subprocess& child, size_t cap, std::string* output) {
  char buffer[16 << 10];
  // Bounded: a child that prints without end must not keep us from the clock.
  for (int i = 0; i < 16; ++i) {
    const ssize_t n = read(child.output.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == EAGAIN;
    if (n == 0) return false;
    const size_t room = cap - std::min(cap, output->size());
    output->append(buffer, std::min(room, static_cast<size_t>(n)));
  }
  return true;
}

Ended Run(const Command& command, double timeout_s, size_t output_cap,
          int cancel) {
  Ended ended;
  Subprocess child;
  const auto deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(
                         std::chrono::duration<double>(timeout_s));
  if (!Spawn(command, &child, &ended.spawn_error)) {
    ended.starved = child.error == EAGAIN || child.error == ENOMEM;
    return ended;
  }
  bool open = true;
  while (true) {
    int wait = RemainingMs(deadline);
    if (!child.exited) wait = std::min(wait, 5);  // no pidfd: look now and then
    pollfd events[] = {{child.exited.get(), POLLIN, 0},
                       {open ? child.output.get() : -1, POLLIN, 0},
                       {cancel, POLLIN, 0}};
    poll(events, 3, wait);
    if (open) open = Drain(child, output_cap, &ended.output);
    if (HasExited(child)) break;
    ended.cancelled = (events[2].revents & POLLIN) != 0;
    ended.timed_out = Clock::now() >= deadline;
    if (ended.cancelled || ended.timed_out) break;
  }
  Drain(child, output_cap, &ended.output);
  const Ended how = Finish(&child);
  if (!ended.timed_out && !ended.cancelled) {
    ended.exit_code = how.exit_code;
    ended.signal = how.signal;
  }
  return ended;
}

std::string Probe(const std::vector<std::string>& argv) {
  Command command;
  command.argv = argv;
  command.environment = ScrubbedEnvironment();
  const Ended ended = Run(command, /*timeout_s=*/30);
  return ended.exit_code == 0 ? ended.output : "";
}

std::vector<std::string> ScrubbedEnvironment() {
  std::vector<std::string> kept = {"LC_ALL=C"};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    for (const char* name :
         {"PATH=", "LD_LIBRARY_PATH=", "HOME=", "CUDA_", "NVIDIA_", "JAXKERN_",
          "ASAN_OPTIONS=", "LSAN_OPTIONS=", "TSAN_OPTIONS=",
          "UBSAN_OPTIONS="}) {
      if (std::strncmp(*variable, name, std::strlen(name)) == 0) {
        kept.emplace_back(*variable);
      }
    }
  }
  return kept;
}

std::string SignalName(int signal) {
  switch (signal) {
    case SIGSEGV:
      return "segmentation fault";
    case SIGBUS:
      return "bus error";
    case SIGFPE:
      return "arithmetic exception (integer division by zero?)";
    case SIGILL:
      return "illegal instruction";
    case SIGABRT:
      return "aborted";
    case SIGKILL:
      return "killed";
    case SIGTRAP:
      return "trap";
    case SIGXCPU:
      return "processor time limit exceeded";
    case SIGSYS:
      return "ended by the sandbox: a system call that kernels may not make";
    case SIGXFSZ:
      return "file size limit exceeded";
    default:
      return "signal " + std::to_string(signal);
  }
}

}  // namespace jaxkern
