// Too much work, too few processes, compilers that do not end: who waits, and
// who does not.
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "bundle.h"
#include "check.h"
#include "fixture.h"

using jaxkern::Evaluator;
using jaxkern::Options;
using jaxkern::Request;
using jaxkern::Result;
using jaxkern::Stats;
using jaxkern::Status;
using jaxkern::testing::EndlessSource;
using jaxkern::testing::kScaleKernel;
using jaxkern::testing::TemporaryDirectory;
using jaxkern::testing::WriteScaleBundle;

namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Fixture {
  explicit Fixture(int compilers, int max_queued = 4096) {
    WriteScaleBundle(bundle);
    Options options;
    options.cache_dir = cache.path();
    options.compile_workers = compilers;
    options.max_queued = max_queued;
    evaluator = std::make_unique<Evaluator>(options);
  }

  Request MakeRequest(const std::string& source) const {
    Request request;
    request.problem = bundle.path();
    request.source = source;
    request.rules = false;
    return request;
  }

  /// A right kernel that no other is equal to.
  Request Distinct(int i, const std::string& work = "") const {
    return MakeRequest(jaxkern::testing::Fixture::Kernel(
        work, "",
        "#include <unistd.h>\nint f() { return " + std::to_string(i) + "; }"));
  }

  std::vector<Request> Distincts(int count) const {
    std::vector<Request> requests;
    for (int i = 0; i < count; ++i) requests.push_back(Distinct(i));
    return requests;
  }

  /// Its compiler waits until its time is over.
  Request Bomb(double seconds) const {
    Request request = MakeRequest(EndlessSource(bundle) + "int launch();\n");
    request.compile_timeout_s = seconds;
    return request;
  }

  TemporaryDirectory bundle, cache;
  std::unique_ptr<Evaluator> evaluator;
};

int CountOk(const std::vector<Result>& results) {
  int count = 0;
  for (const Result& result : results) count += result.status == Status::kOk;
  return count;
}

double Time(const Fixture& f, const std::vector<Request>& requests) {
  const auto start = Clock::now();
  CHECK_EQ(CountOk(f.evaluator->Evaluate(requests)),
           static_cast<int>(requests.size()));
  return SecondsSince(start);
}

}  // namespace

TEST(ABombCostsItsOwnSlotOnly) {
  const Fixture alone(1);
  const double expected = Time(alone, alone.Distincts(12));
  const Fixture f(2);
  const uint64_t bomb = f.evaluator->Submit(f.Bomb(60));
  const double beside = Time(f, f.Distincts(12));
  std::printf(
      "     12 kernels: %.2f s with one compiler, %.2f s with a second "
      "that a bomb holds\n",
      expected, beside);
  CHECK(beside < 3 * expected + 1);
  CHECK_EQ(f.evaluator->stats().compiling, 1);
  f.evaluator->Abandon(bomb);
}

TEST(ABombThatSeveralWantTakesItsTimeOnce) {
  const Fixture f(3);
  std::vector<Request> requests(3, f.Bomb(2));
  for (size_t i = 0; i < 3; ++i) requests[i].seed = i + 1;  // not equal ones
  const auto start = Clock::now();
  for (const Result& result : f.evaluator->Evaluate(requests)) {
    CHECK_EQ(std::string(StatusName(result.status)), "timeout");
    CHECK_EQ(result.stage, "compile");
    CHECK_EQ(result.log, "compiling took longer than 2 s\n");
  }
  CHECK(SecondsSince(start) < 3.9);
  CHECK_EQ(f.evaluator->stats().cache_joined, 2);
}

TEST(WhatNeedsNoCompilerDoesNotWaitForOne) {
  const Fixture f(1);
  f.evaluator->Evaluate({f.MakeRequest(kScaleKernel)});
  const uint64_t bomb = f.evaluator->Submit(f.Bomb(60));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const auto results = f.evaluator->Evaluate(
      {f.MakeRequest(kScaleKernel), f.MakeRequest("nonsense")});
  CHECK(results[0].status == Status::kOk);
  CHECK(results[0].cache_hit);
  CHECK(results[1].status == Status::kExtractError);
  CHECK_EQ(f.evaluator->stats().compiling, 1);  // the bomb is still there
  f.evaluator->Abandon(bomb);
}

TEST(WhoSubmitsWaitsWhileTheQueueIsFull) {
  const Fixture f(1, /*max_queued=*/4);
  f.evaluator->Submit(f.Bomb(1));
  std::atomic<int> submitted{0};
  std::thread submitter([&] {
    for (int i = 0; i < 10; ++i) {
      f.evaluator->Submit(f.Distinct(i));
      ++submitted;
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  CHECK(submitted < 8);
  CHECK(f.evaluator->stats().queued_builds <= 5);
  submitter.join();
  for (int i = 0; i < 11; ++i) CHECK(f.evaluator->Next(60).has_value());
  CHECK(f.evaluator->stats().blocked_s > 0.1);
  CHECK_EQ(f.evaluator->stats().queued_builds, 0);
}

TEST(WhereProcessesAreShortFewerCompilersRun) {
  // A compiler of which only two may run, and which fails as g++ does.
  const TemporaryDirectory bin;
  for (const char* slot : {"slot1", "slot2"}) bin.Write(slot, "");
  const std::string script = bin.Write(
      "c++",
      "#!/bin/sh\nfor i in 1 2; do\n  exec 9< " + bin.path() +
          "/slot$i\n  if flock -n 9; then exec /usr/bin/c++ \"$@\"; fi\ndone\n"
          "echo \"c++: fatal error: cannot execute 'cc1plus': vfork: Resource "
          "temporarily unavailable\" >&2\nexit 1\n");
  chmod(script.c_str(), 0755);
  const std::string path = std::getenv("PATH");
  setenv("PATH", (bin.path() + ":" + path).c_str(), 1);
  {
    const Fixture f(6);
    Time(f, f.Distincts(24));
    const Stats stats = f.evaluator->stats();
    CHECK(stats.starved > 0);
    CHECK(stats.compilers < 6);
    CHECK_EQ(stats.infra_errors, 0);
    std::printf("     %d compilers of 6 in the end, %d times none was left\n",
                static_cast<int>(stats.compilers),
                static_cast<int>(stats.starved));
  }
  setenv("PATH", path.c_str(), 1);
}

TEST(CompilingAndRunningHaveLimitsOfTheirOwn) {
  const TemporaryDirectory bin;
  const std::string script =
      bin.Write("c++", "#!/bin/sh\nsleep 3\nexec /usr/bin/c++ \"$@\"\n");
  chmod(script.c_str(), 0755);
  const std::string path = std::getenv("PATH");
  setenv("PATH", (bin.path() + ":" + path).c_str(), 1);
  {
    const Fixture f(2);
    // Three seconds of compiling are not in the two that it may run.
    Request slow = f.Distinct(0);
    slow.run_timeout_s = 2;
    // And the half minute that it may compile is not for running.
    Request hangs = f.Distinct(1, "for (;;) sleep(1);");
    hangs.compile_timeout_s = 30;
    hangs.run_timeout_s = 0.5;
    const auto start = Clock::now();
    const auto results = f.evaluator->Evaluate({slow, hangs});
    CHECK_EQ(std::string(StatusName(results[0].status)), "ok");
    CHECK(results[0].compile_s >= 3);
    CHECK_EQ(std::string(StatusName(results[1].status)), "timeout");
    CHECK_EQ(results[1].stage, "run");
    CHECK(SecondsSince(start) < 25);
  }
  setenv("PATH", path.c_str(), 1);
}

TEST(ALowProcessLimitCostsTimeAndNoResults) {
  if (geteuid() != 0) return;  // who has no limit can give itself one, and back
  const int failures = jaxkern::testing::Failures();
  const pid_t child = fork();
  if (child == 0) {
    // One thread for each of 6 compilers and 5 others, a guard, two workers:
    // few are left for compilers, each of which is four processes in turn.
    const rlimit limit = {20, 20};
    if (setrlimit(RLIMIT_NPROC, &limit) != 0 || setuid(54321) != 0) _exit(2);
    const Fixture f(6);
    Time(f, f.Distincts(24));
    const Stats stats = f.evaluator->stats();
    std::printf("     %d compilers of 6 in the end, %d times none was left\n",
                static_cast<int>(stats.compilers),
                static_cast<int>(stats.starved));
    CHECK_EQ(stats.infra_errors, 0);
    std::fflush(stdout);
    _exit(jaxkern::testing::Failures() == failures ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(ACandidateCannotPretendThatProcessesAreShort) {
  const Fixture f(1);
  const Result result = f.evaluator->Evaluate({f.MakeRequest(
      "#error c++: vfork: Resource temporarily unavailable\nint launch();\n")})
                            [0];
  CHECK_EQ(std::string(StatusName(result.status)), "compile_error");
  CHECK_EQ(f.evaluator->stats().starved, 0);
}

int main() { return jaxkern::testing::RunTests(); }
