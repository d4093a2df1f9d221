#include "core/key_lock.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "check.h"

using jaxkern::KeyLock;
using jaxkern::testing::TemporaryDirectory;

namespace {

const std::string kA(64, 'a'), kB(64, 'b');

/// A process that holds a lock until it is killed.
pid_t StartHolder(const std::string& file, const std::string& key) {
  int ends[2];
  if (pipe(ends) != 0) abort();
  const pid_t child = fork();
  if (child == 0) {
    KeyLock lock(file, key);
    const char held = lock.Try() ? 'y' : 'n';
    if (write(ends[1], &held, 1) == 1) pause();
    _exit(1);
  }
  char held = 'n';
  if (read(ends[0], &held, 1) != 1) held = 'n';
  CHECK_EQ(held, 'y');
  close(ends[0]);
  close(ends[1]);
  return child;
}

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

}  // namespace

TEST(OneOfTwoHoldsAKeyAndAnotherKeyIsFree) {
  const TemporaryDirectory directory;
  const std::string file = directory.path() + "/lock";
  KeyLock other(file, kA), b(file, kB);
  {
    KeyLock a(file, kA);
    CHECK(a.Try());
    CHECK(!other.Try());
    CHECK(b.Try());
  }
  CHECK(other.Try());
}

TEST(AKilledHoldersLockIsFreeAtOnce) {
  const TemporaryDirectory directory;
  const std::string file = directory.path() + "/lock";
  const pid_t holder = StartHolder(file, kA);
  KeyLock lock(file, kA);
  CHECK(!lock.Try());
  std::thread killer([holder] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    kill(holder, SIGKILL);
  });
  const auto start = std::chrono::steady_clock::now();
  CHECK(lock.Await(20, -1));
  CHECK(SecondsSince(start) < 10);
  killer.join();
  waitpid(holder, nullptr, 0);
}

TEST(WaitingEndsAtItsDeadlineAndWhenItIsCancelled) {
  const TemporaryDirectory directory;
  const std::string file = directory.path() + "/lock";
  const pid_t holder = StartHolder(file, kA);
  KeyLock lock(file, kA);
  CHECK(!lock.Await(0.05, -1));
  int ends[2];
  if (pipe(ends) != 0) abort();
  CHECK_EQ(write(ends[1], "x", 1), 1);
  const auto start = std::chrono::steady_clock::now();
  CHECK(!lock.Await(20, ends[0]));
  CHECK(SecondsSince(start) < 10);
  kill(holder, SIGKILL);
  waitpid(holder, nullptr, 0);
  close(ends[0]);
  close(ends[1]);
}

TEST(AForkedCopyDoesNotKeepWhatWasLetGo) {
  const TemporaryDirectory directory;
  const std::string file = directory.path() + "/lock";
  pid_t copy = -1;
  {
    KeyLock lock(file, kA);
    CHECK(lock.Try());
    copy = fork();
    if (copy == 0) {
      pause();
      _exit(0);
    }
  }
  CHECK(KeyLock(file, kA).Try());
  kill(copy, SIGKILL);
  waitpid(copy, nullptr, 0);
}

TEST(WhereNothingCanBeLockedNobodyWaits) {
  KeyLock lock("/no/such/directory/lock", kA);
  CHECK(lock.Await(5, -1));
}

int main() { return jaxkern::testing::RunTests(); }
