#include "core/subprocess.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "check.h"

using jaxkern::Command;
using jaxkern::Ended;
using jaxkern::Run;

namespace {

Command Shell(const std::string& script) {
  Command command;
  command.argv = {"sh", "-c", script};
  command.environment = jaxkern::ScrubbedEnvironment();
  return command;
}

double Seconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - since)
      .count();
}

bool Alive(const std::string& pid) {
  // A zombie that init has not reaped yet does no more work.
  std::ifstream stat("/proc/" + pid + "/stat");
  std::string line;
  std::getline(stat, line);
  return !line.empty() && line.find(") Z") == std::string::npos;
}

bool DiesSoon(const std::string& pid) {
  for (int i = 0; i < 200 && Alive(pid); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return !Alive(pid);
}

std::string FirstLine(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

}  // namespace

TEST(OutputAndExitCodeAreReported) {
  const Ended ended = Run(Shell("echo out; echo err >&2; exit 3"), 10);
  CHECK_EQ(ended.output, "out\nerr\n");
  CHECK_EQ(ended.exit_code, 3);
  CHECK_EQ(ended.signal, 0);
}

TEST(ASignalIsReported) {
  const Ended ended = Run(Shell("kill -SEGV $$"), 10);
  CHECK_EQ(ended.exit_code, -1);
  CHECK_EQ(ended.signal, SIGSEGV);
}

TEST(TheDeadlineKillsTheWholeGroup) {
  const auto start = std::chrono::steady_clock::now();
  const Ended ended = Run(Shell("sleep 60 & echo $!; sleep 60"), 0.3);
  CHECK(ended.timed_out);
  CHECK(Seconds(start) < 5);
  CHECK(DiesSoon(FirstLine(ended.output)));
}

TEST(WhatAChildLeavesBehindIsKilled) {
  const Ended ended = Run(Shell("sleep 60 & echo $!"), 10);
  CHECK_EQ(ended.exit_code, 0);
  CHECK(DiesSoon(FirstLine(ended.output)));
}

TEST(OutputIsCappedAndAnEndlessPrinterMeetsTheDeadline) {
  const auto start = std::chrono::steady_clock::now();
  const Ended ended = Run(Shell("yes"), 0.3, 1000);
  CHECK(ended.timed_out);
  CHECK_EQ(ended.output.size(), size_t{1000});
  CHECK(Seconds(start) < 5);
}

TEST(ALimitOnFilesHolds) {
  Command command = Shell(
      "head -c 100000 /dev/zero > /tmp/jaxkern-test-$$; s=$?; "
      "rm /tmp/jaxkern-test-$$; exit $s");
  command.file_bytes = 4096;
  CHECK(Run(command, 10).exit_code != 0);
}

TEST(ALimitOnMemoryHolds) {
  Command command = Shell("ulimit -v");
  command.memory_bytes = int64_t{1} << 30;
  CHECK_EQ(Run(command, 10).output, "1048576\n");
}

TEST(CoreDumpsAreOff) { CHECK_EQ(Run(Shell("ulimit -c"), 10).output, "0\n"); }

TEST(TheEnvironmentIsScrubbed) {
  setenv("JAXKERN_SECRET_TEST", "kept", 1);
  setenv("TOKEN_FOR_TEST", "secret", 1);
  const std::string output = Run(Shell("env"), 10).output;
  CHECK_HAS(output, "JAXKERN_SECRET_TEST=kept");
  CHECK_HAS(output, "LC_ALL=C");
  CHECK(output.find("TOKEN_FOR_TEST") == std::string::npos);
}

TEST(DescriptorsAreNotInherited) {
  const int leaked = open("/dev/null", O_RDONLY);  // without O_CLOEXEC
  const std::string output = Run(Shell("ls /proc/$$/fd"), 10).output;
  close(leaked);
  CHECK_EQ(output, "0\n1\n2\n");
}

TEST(IgnoredSignalsAreNotInherited) {
  signal(SIGPIPE, SIG_IGN);
  CHECK_EQ(Run(Shell("kill -PIPE $$"), 10).signal, SIGPIPE);
}

TEST(AMissingProgramIsNamed) {
  Command command;
  command.argv = {"/nowhere/compiler"};
  const Ended ended = Run(command, 10);
  CHECK_HAS(ended.spawn_error, "cannot start /nowhere/compiler: No such file");
}

TEST(AMissingDirectoryIsAnError) {
  Command command = Shell("true");
  command.directory = "/nowhere";
  CHECK_HAS(Run(command, 10).spawn_error, "No such file");
}

TEST(CancellingEndsARun) {
  const jaxkern::Fd cancel(eventfd(0, EFD_CLOEXEC));
  std::thread thread([&cancel] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    eventfd_write(cancel.get(), 1);
  });
  const auto start = std::chrono::steady_clock::now();
  const Ended ended = Run(Shell("sleep 60"), 30, 1000, cancel.get());
  thread.join();
  CHECK(ended.cancelled);
  CHECK(Seconds(start) < 5);
}

TEST(ManyThreadsMaySpawn) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 20; ++i) {
        const std::string text = std::to_string(100 * t + i);
        CHECK_EQ(Run(Shell("echo " + text), 10).output, text + "\n");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

int main() { return jaxkern::testing::RunTests(); }
