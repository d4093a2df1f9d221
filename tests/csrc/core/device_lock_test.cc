#include "core/device_lock.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

#include "check.h"

using jaxkern::DeviceLock;
using jaxkern::Fd;

namespace {

/// Of this test alone.
const std::string kDevice = "test device of " + std::to_string(getpid());

/// A descriptor that becomes readable, or does not.
Fd Cancel(int value) { return Fd(eventfd(value, EFD_CLOEXEC)); }

/// A process that holds the lock until it is killed.
pid_t StartHolder() {
  int ends[2];
  CHECK_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const DeviceLock lock(kDevice, -1);
    if (write(ends[1], "x", 1) != 1) _exit(1);
    pause();
  }
  char ready;
  CHECK_EQ(read(ends[0], &ready, 1), ssize_t{1});
  close(ends[0]);
  close(ends[1]);
  return child;
}

}  // namespace

TEST(AFreeDeviceIsTakenAtOnceAndAgain) {
  const Fd never = Cancel(0);
  for (int i = 0; i < 2; ++i) CHECK(DeviceLock(kDevice, never.get()).held());
}

TEST(OneProcessHasOneHolderPerDevice) {
  const Fd cancelled = Cancel(1);
  const DeviceLock first(kDevice, cancelled.get());
  CHECK(first.held());
  CHECK(!DeviceLock(kDevice, cancelled.get()).held());
  CHECK(DeviceLock(kDevice + " and another", cancelled.get()).held());
  unlink(DeviceLock::Path(kDevice + " and another").c_str());
}

TEST(ALockDiesWithItsHolder) {
  const pid_t holder = StartHolder();
  const Fd cancelled = Cancel(1), never = Cancel(0);
  CHECK(!DeviceLock(kDevice, cancelled.get()).held());
  kill(holder, SIGKILL);
  CHECK(DeviceLock(kDevice, never.get()).held());
  waitpid(holder, nullptr, 0);
}

TEST(NobodyElseCanBeKeptOutByAFile) {
  CHECK_EQ(access(DeviceLock::Path(kDevice).c_str(), R_OK), 0);
  unlink(DeviceLock::Path(kDevice).c_str());
  // Somebody's link is no lock, and not followed.
  CHECK_EQ(symlink("/etc/passwd", DeviceLock::Path(kDevice).c_str()), 0);
  CHECK(!DeviceLock(kDevice, -1).held());
  unlink(DeviceLock::Path(kDevice).c_str());
}

int main() { return jaxkern::testing::RunTests(); }
