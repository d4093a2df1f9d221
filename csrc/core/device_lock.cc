#include "core/device_lock.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>

#include "core/sha256.h"

namespace jaxkern {
namespace {

constexpr int kPollMs = 5;

/// Everybody on the host may hold the lock, so everybody may open the file. One
/// that another user has made is opened only without O_CREAT (see
/// fs.protected_regular in proc(5)).
Fd OpenShared(const std::string& path) {
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW;
  Fd file(open(path.c_str(), kFlags));
  if (file) return file;
  file = Fd(open(path.c_str(), kFlags | O_CREAT, 0644));
  if (file) fchmod(file.get(), 0644);  // whatever the umask says
  return file;
}

}  // namespace

std::string DeviceLock::Path(const std::string& device) {
  return "/tmp/jaxkern-device-" + Sha256(device).substr(0, 16) + ".lock";
}

DeviceLock::DeviceLock(const std::string& device, int cancel)
    : file_(OpenShared(Path(device))) {
  while (file_) {
    if (flock(file_.get(), LOCK_EX | LOCK_NB) == 0) {
      held_ = true;
      return;
    }
    if (errno != EWOULDBLOCK && errno != EINTR) return;
    pollfd stop = {cancel, POLLIN, 0};
    if (poll(&stop, 1, kPollMs) > 0) return;
  }
}

}  // namespace jaxkern
