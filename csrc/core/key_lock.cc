#include "core/key_lock.h"

#include <fcntl.h>
#include <poll.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>

namespace jaxkern {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kDigits = 15;  // 60 bits, of the 63 that a place may have
constexpr int kPollMs = 3;

}  // namespace

KeyLock::KeyLock(const std::string& file, const std::string& key)
    : file_(
          open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666)),
      at_(std::strtoll(key.substr(0, kDigits).c_str(), nullptr, 16)) {}

KeyLock::~KeyLock() {
  if (file_) Set(F_UNLCK);
}

/// Of the open file, not of the process: threads exclude each other, too.
bool KeyLock::Set(short type) {
  struct flock byte = {};
  byte.l_type = type;
  byte.l_whence = SEEK_SET;
  byte.l_start = static_cast<off_t>(at_);
  byte.l_len = 1;
  int failed;
  do {
    failed = fcntl(file_.get(), F_OFD_SETLK, &byte);
  } while (failed != 0 && errno == EINTR);
  return failed == 0;
}

bool KeyLock::Try() {
  return !file_ || Set(F_WRLCK) || (errno != EAGAIN && errno != EACCES);
}

bool KeyLock::Await(double seconds, int cancel) {
  const auto deadline = Clock::now() + std::chrono::duration<double>(seconds);
  while (!Try()) {
    pollfd stop = {cancel, POLLIN, 0};
    if (poll(&stop, 1, kPollMs) > 0 || Clock::now() >= deadline) return false;
  }
  return true;
}

}  // namespace jaxkern
