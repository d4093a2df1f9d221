#include "core/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <system_error>

#include "core/seccomp.h"

namespace jaxkern {
namespace {

namespace fs = std::filesystem;

// <linux/landlock.h> as of version 7; distributions ship older ones. The three
// system calls have these numbers on every processor.
constexpr long kCreateRuleset = 444;
constexpr long kAddRule = 445;
constexpr long kRestrictSelf = 446;
constexpr unsigned kVersionFlag = 1;
constexpr int kPathBeneath = 1;

struct RulesetAttributes {
  uint64_t files, network, scopes;
};
struct __attribute__((packed)) PathRule {
  uint64_t allowed;
  int32_t parent;
};

constexpr uint64_t kExecute = 1 << 0;
constexpr uint64_t kWriteFile = 1 << 1;
constexpr uint64_t kReadFile = 1 << 2;
constexpr uint64_t kReadDirectory = 1 << 3;
constexpr uint64_t kRemoveDirectory = 1 << 4;
constexpr uint64_t kRemoveFile = 1 << 5;
constexpr uint64_t kMakeDirectory = 1 << 7;
constexpr uint64_t kMakeFile = 1 << 8;
constexpr uint64_t kMakeFifo = 1 << 10;
constexpr uint64_t kMakeLink = 1 << 12;
constexpr uint64_t kRefer = 1 << 13;     // version 2
constexpr uint64_t kTruncate = 1 << 14;  // version 3
constexpr uint64_t kIoctl = 1 << 15;     // version 5
constexpr uint64_t kTcp = 3;             // version 4: bind, connect
constexpr uint64_t kScopes = 3;          // version 6: abstract sockets, signals

constexpr uint64_t kRead = kExecute | kReadFile | kReadDirectory;
constexpr uint64_t kWrite = kWriteFile | kReadFile | kReadDirectory |
                            kRemoveDirectory | kRemoveFile | kMakeDirectory |
                            kMakeFile | kMakeFifo | kMakeLink | kRefer |
                            kTruncate | kIoctl;
constexpr uint64_t kOfAFile =
    kExecute | kWriteFile | kReadFile | kTruncate | kIoctl;

int LandlockVersion() {
  if (IsLeftOut("landlock")) return 0;
  const long version = syscall(kCreateRuleset, nullptr, 0, kVersionFlag);
  return version > 0 ? static_cast<int>(version) : 0;
}

uint64_t HandledFiles(int version, bool devices) {
  uint64_t files = kRefer - 1;
  if (version >= 2) files |= kRefer;
  if (version >= 3) files |= kTruncate;
  if (version >= 5 && !devices) files |= kIoctl;
  return files;
}

void Allow(int ruleset, const std::string& path, uint64_t rights) {
  const Fd fd(open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat status;
  if (!fd || fstat(fd.get(), &status) != 0) return;
  if (!S_ISDIR(status.st_mode)) rights &= kOfAFile;
  const PathRule rule = {rights, fd.get()};
  syscall(kAddRule, ruleset, kPathBeneath, &rule, 0);
}

/// Directories of what this process has loaded, the runtime of a GPU included.
std::set<std::string> LoadedDirectories() {
  std::set<std::string> directories;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const size_t path = line.find('/');
    if (path == std::string::npos || line.find(" r-xp ") == std::string::npos) {
      continue;
    }
    directories.insert(line.substr(path, line.rfind('/') - path));
  }
  return directories;
}

/// Tasks of this user. The system's limit counts those that others run, too.
int64_t CountTasks() {
  int64_t tasks = 0;
  std::error_code ended;
  for (const auto& process : fs::directory_iterator("/proc", ended)) {
    struct stat status;
    const std::string path = process.path().string() + "/task";
    if (stat(path.c_str(), &status) != 0 || status.st_uid != getuid()) continue;
    for (const auto& task : fs::directory_iterator(path, ended)) {
      static_cast<void>(task);
      ++tasks;
    }
  }
  return tasks;
}

void LimitProcesses() {
  constexpr int64_t kMore = 256;
  const rlim_t limit = static_cast<rlim_t>(CountTasks() + kMore);
  const rlimit limits = {limit, limit};
  setrlimit(RLIMIT_NPROC, &limits);
}

}  // namespace

bool IsLeftOut(const std::string& protection) {
  const char* names = std::getenv("JAXKERN_WITHOUT");
  return names != nullptr &&
         std::string(names).find(protection) != std::string::npos;
}

Fd MakeRuleset(const FileAccess& access) {
  const int version = LandlockVersion();
  if (version == 0) return Fd();
  RulesetAttributes attributes = {};
  attributes.files = HandledFiles(version, access.devices);
  if (version >= 4) attributes.network = kTcp;
  if (version >= 6) attributes.scopes = kScopes;
  Fd ruleset(static_cast<int>(
      syscall(kCreateRuleset, &attributes, sizeof attributes, 0)));
  if (!ruleset) return ruleset;
  for (const std::string& path : access.readable) {
    Allow(ruleset.get(), path, kRead & attributes.files);
  }
  for (const std::string& path : access.writable) {
    Allow(ruleset.get(), path, kWrite & attributes.files);
  }
  return ruleset;
}

bool EnterRuleset(int ruleset) {
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         syscall(kRestrictSelf, ruleset, 0) == 0;
}

std::vector<std::string> SystemFiles() {
  std::vector<std::string> files = {"/usr",
                                    "/lib",
                                    "/lib32",
                                    "/lib64",
                                    "/libx32",
                                    "/bin",
                                    "/sbin",
                                    "/etc/ld.so.cache",
                                    "/etc/ld.so.preload",
                                    "/etc/alternatives"};
  for (const char* variable :
       {"PATH", "LD_LIBRARY_PATH", "JAXKERN_LIBRARIES"}) {
    const char* value = std::getenv(variable);
    std::istringstream places(value != nullptr ? value : "");
    for (std::string place; std::getline(places, place, ':');) {
      if (!place.empty() && place[0] == '/') files.push_back(place);
    }
  }
  return files;
}

FileAccess WorkerAccess(const std::string& scratch, bool driver) {
  FileAccess access;
  access.readable = SystemFiles();
  for (const char* path : {"/proc", "/sys/devices", "/dev/null", "/dev/zero",
                           "/dev/random", "/dev/urandom"}) {
    access.readable.push_back(path);
  }
  access.writable = {scratch, "/dev/null"};
  access.devices = driver;
  if (driver) {
    for (const char* path : {"/sys", "/etc", "/run/nvidia-persistenced"}) {
      access.readable.push_back(path);
    }
    std::error_code none;
    for (const auto& entry : fs::directory_iterator("/dev", none)) {
      const std::string name = entry.path().filename();
      if (name.rfind("nvidia", 0) == 0) access.writable.push_back(entry.path());
    }
  }
  return access;
}

/// Also when we are root: then root's files are still protected by their modes
/// only, but nobody else's.
bool GiveUpPrivileges() {
  std::ofstream("/proc/self/oom_score_adj") << 1000;
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         syscall(SYS_capset, &header, none) == 0;
}

std::string EnterSandbox(const std::string& scratch, bool driver) {
  std::string active = GiveUpPrivileges() ? "no privileges" : "privileges kept";
  FileAccess access = WorkerAccess(scratch, driver);
  for (const std::string& directory : LoadedDirectories()) {
    access.readable.push_back(directory);
  }
  const Fd ruleset = MakeRuleset(access);
  if (ruleset && EnterRuleset(ruleset.get())) {
    active += ", files (Landlock " + std::to_string(LandlockVersion()) + ")";
  } else {
    active += ", files not restricted (no Landlock)";
  }
  const std::string refused =
      IsLeftOut("seccomp") ? "JAXKERN_WITHOUT" : RefuseSystemCalls(driver);
  if (refused.empty()) return active + ", system calls (seccomp)";
  LimitProcesses();
  return active + ", system calls not restricted (seccomp: " + refused + ")";
}

bool RemoveTree(const std::string& directory) {
  std::error_code failed;
  fs::remove_all(directory, failed);
  // Directories without permissions can be neither listed nor emptied.
  for (int attempt = 0; failed && attempt < 3; ++attempt) {
    fs::permissions(directory, fs::perms::owner_all, failed);
    std::error_code unreadable;
    for (auto entry = fs::recursive_directory_iterator(
             directory, fs::directory_options::skip_permission_denied,
             unreadable);
         entry != fs::recursive_directory_iterator();
         entry.increment(unreadable)) {
      if (entry->is_directory(failed) && !entry->is_symlink(failed)) {
        fs::permissions(entry->path(), fs::perms::owner_all, failed);
      }
    }
    fs::remove_all(directory, failed);
  }
  return !fs::exists(directory, failed);
}

}  // namespace jaxkern
