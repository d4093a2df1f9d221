// What a process in the sandbox can still do. Each attempt is made in a child.
#include "core/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <thread>

#include "check.h"
#include "core/memory_file.h"

namespace fs = std::filesystem;
using jaxkern::EnterSandbox;
using jaxkern::Fd;
using jaxkern::RemoveTree;
using jaxkern::testing::TemporaryDirectory;

namespace {

/// How a child ended that called `attempt` in the sandbox: what it returned, or
/// minus the signal; and what it printed.
int Try(const std::function<int()>& attempt, std::string* printed = nullptr,
        bool driver = false) {
  const TemporaryDirectory scratch;
  int ends[2];
  if (pipe(ends) != 0) return 255;
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(ends[1], 2);
    if (chdir(scratch.path().c_str()) != 0) _exit(254);
    EnterSandbox(".", driver);
    _exit(attempt());
  }
  close(ends[1]);
  char text[1000];
  const ssize_t n = read(ends[0], text, sizeof text);
  close(ends[0]);
  if (printed != nullptr) printed->assign(text, n > 0 ? n : 0);
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/// errno of a call that failed, else 0.
int Error(long result) { return result < 0 ? errno : 0; }

std::string Active() {
  static const std::string active = [] {
    int ends[2];
    if (pipe(ends) != 0) std::abort();
    if (fork() == 0) {
      const std::string text = EnterSandbox(".", false);
      _exit(write(ends[1], text.data(), text.size()) < 0);
    }
    wait(nullptr);
    char text[1000];
    const ssize_t n = read(ends[0], text, sizeof text);
    return std::string(text, n > 0 ? static_cast<size_t>(n) : 0);
  }();
  return active;
}

bool Has(const char* protection) {
  return Active().find(protection) != std::string::npos;
}
bool HasLandlock() { return Has("(Landlock "); }
bool HasSeccomp() { return Has("(seccomp)"); }

}  // namespace

TEST(OrdinaryWorkGoesOn) {
  CHECK_EQ(Try([] {
             std::ofstream("file") << "x";
             fs::create_directory("directory");
             fs::rename("file", "directory/file");
             int sum = 0;
             std::thread([&sum] { ++sum; }).join();
             const Fd zero(open("/dev/zero", O_RDONLY));
             const bool ok = sum == 1 && zero && fs::exists("directory/file") &&
                             std::ifstream("/proc/cpuinfo").good() &&
                             fs::remove_all("directory") == 2;
             return ok ? 0 : 1;
           }),
           0);
}

TEST(SignalsToOneselfArrive) {
  CHECK_EQ(Try([] { return raise(SIGTERM); }), -SIGTERM);
  CHECK_EQ(Try([]() -> int { std::abort(); }), -SIGABRT);
}

TEST(WhatAKernelHasNoBusinessWithIsFatalAndNamed) {
  if (!HasSeccomp()) return;
  const std::pair<const char*, std::function<int()>> attempts[] = {
      {"clone", [] { return static_cast<int>(fork() < 0); }},
      {"execve", [] { return execl("/bin/true", "true", nullptr); }},
      {"setsid", [] { return static_cast<int>(setsid()); }},
      {"setpgid", [] { return setpgid(0, 0); }},
      {"kill", [] { return kill(getppid(), 0); }},
      {"kill", [] { return kill(-1, SIGTERM); }},
      {"kill", [] { return kill(getpid(), SIGKILL); }},
      {"tgkill", [] { return raise(SIGSTOP); }},
      {"socket", [] { return socket(AF_INET, SOCK_STREAM, 0); }},
      {"unshare", [] { return unshare(CLONE_NEWUSER); }},
      {"shmget",
       [] { return static_cast<int>(syscall(SYS_shmget, 1, 4096, 0)); }},
      {"io_uring_setup",
       [] { return static_cast<int>(syscall(SYS_io_uring_setup, 1, 0)); }},
  };
  for (const auto& [name, attempt] : attempts) {
    std::string printed;
    CHECK_EQ(Try(attempt, &printed), -SIGSYS);
    CHECK_EQ(printed, std::string("a kernel may not make the system call ") +
                          name + "\n");
  }
}

TEST(ACandidatesOwnHandlerDoesNotHelp) {
  if (!HasSeccomp()) return;
  CHECK_EQ(Try([] {
             signal(SIGSYS, [](int) {});
             if (fork() == 0) _exit(0);
             return wait(nullptr) < 0 && errno == ECHILD ? 0 : 1;
           }),
           0);
}

TEST(WhatALibraryMayTryFailsOnly) {
  if (!HasSeccomp()) return;
  CHECK_EQ(Try([] { return Error(chmod(".", 0777)); }), EPERM);
  CHECK_EQ(Try([] { return Error(memfd_create("x", 0)); }), EPERM);
  CHECK_EQ(Try([] { return Error(fcntl(0, F_SETOWN, getppid())); }), EPERM);
  CHECK_EQ(Try([] { return Error(prctl(PR_SET_PDEATHSIG, 0)); }), EPERM);
  CHECK_EQ(Try([] { return Error(syscall(100000)); }), ENOSYS);
  CHECK_EQ(Try([] {
             cpu_set_t set;
             CPU_ZERO(&set);
             CPU_SET(0, &set);
             return Error(sched_setaffinity(getppid(), sizeof set, &set));
           }),
           EPERM);
}

TEST(WhatWasWrittenIsNotExecuted) {
  if (!HasSeccomp()) return;
  const auto map = [](int protection) {
    return mmap(nullptr, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  };
  const auto attempt = [&] {
    void* page = map(PROT_READ | PROT_WRITE);
    if (page == MAP_FAILED || mprotect(page, 4096, PROT_READ) != 0) return 1;
    if (map(PROT_READ | PROT_EXEC) != MAP_FAILED) return 2;
    return Error(mprotect(page, 4096, PROT_READ | PROT_EXEC));
  };
  CHECK_EQ(Try(attempt), EPERM);
  CHECK_EQ(Try(attempt, nullptr, /*driver=*/true), 2);
}

TEST(ADriverMayHaveAnonymousFiles) {
  CHECK_EQ(Try([] { return Error(memfd_create("x", 0)); }, nullptr, true), 0);
}

TEST(NothingIsWrittenElsewhere) {
  if (!HasLandlock()) return;
  const TemporaryDirectory other;
  const std::string file = other.Write("file", "kept");
  CHECK_EQ(Try([&] { return Error(open(file.c_str(), O_WRONLY)); }), EACCES);
  CHECK_EQ(Try([&] { return Error(open(file.c_str(), O_RDONLY)); }), EACCES);
  CHECK_EQ(Try([&] { return Error(unlink(file.c_str())); }), EACCES);
  CHECK_EQ(Try([&] { return Error(rename(file.c_str(), "mine")); }), EACCES);
  CHECK_EQ(Try([&] { return Error(mkdir((file + "2").c_str(), 0700)); }),
           EACCES);
  CHECK_EQ(Try([&] {
             return Error(open((other.path() + "/new").c_str(),
                               O_CREAT | O_WRONLY, 0600));
           }),
           EACCES);
  CHECK_EQ(Try([] {
             return Error(shm_open("/jaxkern-test", O_CREAT | O_RDWR, 0600));
           }),
           EACCES);
  CHECK_EQ(Try([] { return Error(open("/etc/passwd", O_RDONLY)); }), EACCES);
}

TEST(ALibraryCanBeLoadedFromMemory) {
  const Fd memory = jaxkern::MakeSealedMemory("text", 4);
  const std::string path = "/proc/self/fd/" + std::to_string(memory.get());
  CHECK_EQ(Try([&] { return Error(open(path.c_str(), O_RDONLY)); }), 0);
}

TEST(TheParentsMemoryIsOutOfReach) {
  if (!HasLandlock()) return;
  const std::string path = "/proc/" + std::to_string(getpid()) + "/mem";
  CHECK_EQ(Try([&] { return Error(open(path.c_str(), O_RDONLY)); }), EACCES);
}

TEST(TheSystemTakesASandboxedProcessFirst) {
  CHECK_EQ(Try([] {
             int score = 0;
             std::ifstream("/proc/self/oom_score_adj") >> score;
             return score == 1000 ? 0 : 1;
           }),
           0);
}

TEST(WhatIsMissingIsSaid) {
  setenv("JAXKERN_WITHOUT", "landlock,seccomp", 1);
  std::string printed;
  CHECK_EQ(Try(
               [] {
                 std::fputs(EnterSandbox(".", false).c_str(), stderr);
                 rlimit limit;
                 getrlimit(RLIMIT_NPROC, &limit);
                 if (limit.rlim_cur <= 256 || limit.rlim_cur > 100000) return 1;
                 return fork() < 0 ? 1 : 0;
               },
               &printed),
           0);
  unsetenv("JAXKERN_WITHOUT");
  CHECK_HAS(printed, "files not restricted (no Landlock)");
  CHECK_HAS(printed, "system calls not restricted (seccomp: JAXKERN_WITHOUT)");
}

TEST(ADirectoryWithoutPermissionsIsRemoved) {
  const TemporaryDirectory parent;
  const std::string directory = parent.path() + "/d";
  fs::create_directories(directory + "/a/b/c");
  fs::create_directory_symlink(parent.path(), directory + "/link");
  parent.Write("kept", "");
  for (const char* part : {"/a/b", "/a", ""}) {
    chmod((directory + part).c_str(), 0);
  }
  // Root needs no permission, so that this says more to everybody else.
  CHECK(RemoveTree(directory));
  CHECK(!fs::exists(directory));
  CHECK(fs::exists(parent.path() + "/kept"));
}

int main() { return jaxkern::testing::RunTests(); }
