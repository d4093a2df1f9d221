// Several baselines beside one candidate, over the fake toolchain and device:
// who takes part, who is left out and why, and that none of it is the
// candidate's doing.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "bundle.h"
#include "check.h"
#include "core/schedule.h"
#include "fixture.h"
#include "jaxkern/evaluator.h"

using jaxkern::Result;
using jaxkern::RoundOrder;
using jaxkern::Status;
using jaxkern::testing::CheckVerdict;
using jaxkern::testing::Fixture;
using jaxkern::testing::kScaleKernel;
using nlohmann::json;

namespace {

/// With further baselines beside naive.
struct Baselines : Fixture {
  explicit Baselines(const std::string& device = "cpu") : Fixture(device) {}

  void Add(const std::string& name, const std::string& source,
           const std::vector<std::string>& libraries = {}) {
    problem["baselines"].push_back(
        {{"name", name}, {"file", name + ".cu"}, {"libraries", libraries}});
    bundle.Write(name + ".cu", source);
    bundle.Write("problem.json", problem.dump());
  }

  json problem = jaxkern::testing::ScaleProblem();
};

/// Takes part, with a time.
void CheckTook(const Result& result, const std::string& name, double us) {
  CHECK(result.baselines.count(name) == 1);
  const auto& times = result.baselines.at(name);
  CHECK_EQ(times.note, "");
  CHECK_EQ(times.us, us);
  CHECK(times.speedup_low <= times.speedup && times.speedup > 0);
  CHECK(times.speedup_high >= times.speedup);
}

void CheckLeftOut(const Result& result, const std::string& name,
                  const std::string& note) {
  CHECK(result.baselines.count(name) == 1);
  CHECK_HAS(result.baselines.at(name).note, note);
  CHECK_EQ(result.baselines.at(name).us, 0.0);
  CHECK_EQ(result.baselines.at(name).speedup, 0.0);
}

}  // namespace

TEST(EveryBaselineHasItsTimesAndTheFirstIsTheSpeedup) {
  Baselines f;
  f.Add("slow", f.Kernel("  fake(\"us\", 8);"));
  f.Add("fast", f.Kernel("  fake(\"us\", 1.6);"));
  const Result result = f.Time(f.Kernel("  fake(\"us\", 4);"));
  CheckVerdict(result, Status::kOk, "check", "");
  CHECK_EQ(result.baselines.size(), size_t{3});
  CheckTook(result, "naive", 2);
  CheckTook(result, "slow", 8);
  CheckTook(result, "fast", 1.6);
  CHECK_EQ(result.baselines.at("slow").speedup, 2.0);
  CHECK_EQ(result.baseline_us, 2.0);
  CHECK_EQ(result.speedup, 0.5);
  CHECK_EQ(result.baselines.at("naive").speedup_low, result.speedup_low);
  CHECK_EQ(ToJson(jaxkern::FromJson(ToJson(result))), ToJson(result));
}

TEST(WithoutTimingThereAreNone) {
  Baselines f;
  f.Add("broken", "nonsense");
  const Result result = f.Evaluate(kScaleKernel);
  CheckVerdict(result, Status::kOk, "check", "");
  CHECK(result.baselines.empty());
}

TEST(WhatCannotBeBuiltIsLeftOut) {
  Baselines f;
  f.Add("broken", "nonsense");
  f.Add("missing", kScaleKernel, {"absent"});
  f.Add("special", std::string("// wmma\n") + kScaleKernel);
  const Result result = f.Time(kScaleKernel);
  CheckVerdict(result, Status::kOk, "check", "");
  CheckTook(result, "naive", 2);
  CheckLeftOut(result, "broken", "does not build: ");
  CheckLeftOut(result, "missing", "needs absent: none");
  CheckLeftOut(result, "special", "does not support wmma");
  CHECK_EQ(result.speedup, 1.0);
}

TEST(TheFirstOneIsLeftOutLikeAnyOther) {
  Baselines f;
  f.bundle.Write("baseline.cu", "nonsense");
  f.Add("other", kScaleKernel);
  const Result result = f.Time(kScaleKernel);
  CheckVerdict(result, Status::kOk, "check", "");
  CheckLeftOut(result, "naive", "does not build: ");
  CheckTook(result, "other", 2);
  CHECK_EQ(result.speedup, 0.0);
  CHECK_EQ(result.baseline_us, 0.0);
  CHECK(!result.times_us.empty());
}

TEST(WhatCannotBeLoadedIsLeftOut) {
  Baselines f;
  f.Add("empty", "int other() { return 0; }\n");
  const Result result = f.Time(kScaleKernel);
  CheckVerdict(result, Status::kOk, "check", "");
  CheckLeftOut(result, "empty", "undefined symbol: launch");
  CheckTook(result, "naive", 2);
}

TEST(LibrariesAreFlagsAndFilesOfTheirBaselineAlone) {
  Baselines f;
  setenv("JAXKERN_FAKE_LIBRARY", "libm.so.6", 1);
  const std::string uses =
      "static_assert(FAKE_LIBRARY == 3);\n" + std::string(kScaleKernel);
  f.Add("vendor", uses, {"fake"});
  const Result result = f.Time(kScaleKernel);
  CheckTook(result, "vendor", 2);
  CHECK(f.Time(uses).status == Status::kCompileError);
  setenv("JAXKERN_FAKE_LIBRARY", "/nowhere/libfake.so", 1);
  CheckLeftOut(f.Time(std::string(kScaleKernel) + "// again\n"), "vendor",
               "cannot open shared object file");
  unsetenv("JAXKERN_FAKE_LIBRARY");
}

TEST(ABaselineMayDoWhatCandidatesMayNot) {
  Baselines f;
  const std::string calls =
      "extern \"C\" int cublasCreate() { return 0; }\n"
      "extern \"C\" void* dlsym(void*, const char*);\n" +
      f.Kernel("  if (n < 0) dlsym(nullptr, \"\");");
  f.Add("vendor", calls, {"fake"});
  const Result result = f.Time(kScaleKernel);
  CheckVerdict(result, Status::kOk, "check", "");
  CheckTook(result, "vendor", 2);
  CHECK(f.Time(calls).status == Status::kCheating);
}

TEST(AWrongBaselineIsFoundAndLeftOut) {
  Baselines f;
  f.Add("wrong", f.Kernel("", "  y[1] += 1;"));
  f.Add("lazy",
        "extern \"C\" int launch(const float*, float*, long, float, "
        "cudaStream_t) { return 0; }\n");
  const Result result = f.Time(kScaleKernel);
  CheckVerdict(result, Status::kOk, "check", "");
  CheckLeftOut(result, "wrong",
               "is wrong in case n=3, a=2.0: y: 1 of 3 elements wrong");
  CheckLeftOut(result, "lazy", "3 of them never written");
  CheckTook(result, "naive", 2);
}

TEST(OneWithLibrariesIsTriedOnZerosBeforeTheCandidateIsThere) {
  Baselines f;
  // Fails in the first launch of its process, if that is on zeros.
  f.Add("refuses", f.Kernel("  if (x[1] == 0 && x[2] == 0) return 7;"),
        {"fake"});
  f.Add("ordinary", f.Kernel("  if (x[1] == 0 && x[2] == 0) return 7;"));
  const Result result = f.Time(kScaleKernel);
  CheckVerdict(result, Status::kOk, "check", "");
  CheckLeftOut(result, "refuses", "launch returned 7");
  CheckTook(result, "ordinary", 2);
}

TEST(OneThatTakesTheWorkerWithItIsLeftOutFromThenOn) {
  Baselines f("cuda");
  const std::string dies =
      "#include <unistd.h>\nstatic int dead = (_exit(9), 0);\n";
  f.Add("dies", dies + kScaleKernel);
  f.Add("lost", f.Kernel("  if (x[2] == 0) return 700;"), {"fake"});
  for (const char* comment : {"// one\n", "// two\n"}) {
    const Result result = f.Time(std::string(kScaleKernel) + comment);
    CheckVerdict(result, Status::kOk, "check", "");
    CheckLeftOut(result, "dies", "exited with code 9");
    CheckLeftOut(result, "lost", "illegal address");
    CheckTook(result, "naive", 2);
  }
  CHECK_EQ(f.evaluator->stats().infra_errors, 0);
  CHECK_EQ(f.evaluator->stats().retries, 0);
}

TEST(OneWhoseWorkerDiedOnceIsTriedAgain) {
  setenv("JAXKERN_WITHOUT", "landlock", 1);
  Baselines f("cuda");
  // Dies as often as there are bytes in the pipe.
  const std::string pipe = f.bundle.path() + "/deaths";
  CHECK_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int deaths = open(pipe.c_str(), O_RDWR | O_CLOEXEC);
  CHECK_EQ(write(deaths, "x", 1), 1);
  f.Add("unlucky",
        "#include <fcntl.h>\n#include <unistd.h>\n"
        "static bool Dies() {\n  char byte;\n  const int deaths = open(\"" +
            pipe +
            "\", O_RDONLY | O_NONBLOCK);\n"
            "  const bool dies = read(deaths, &byte, 1) == 1;\n"
            "  close(deaths);\n  return dies;\n}\n"
            "static int dead = Dies() ? (_exit(9), 0) : 0;\n" +
            kScaleKernel);
  const Result result = f.Time(kScaleKernel);
  CheckVerdict(result, Status::kOk, "check", "");
  CheckTook(result, "unlucky", 2);
  CHECK_EQ(write(deaths, "xx", 2), 2);
  CheckLeftOut(f.Time(f.Kernel("  // again")), "unlucky", "exited with code 9");
  close(deaths);
  unsetenv("JAXKERN_WITHOUT");
}

TEST(AWorkerThatRanBaselinesIsKept) {
  Baselines f("cuda");
  // Leaves what a library leaves: memory, a descriptor.
  f.Add("vendor",
        "#include <unistd.h>\nstatic int kept = dup(1);\n" + f.Kernel(""),
        {"fake"});
  CHECK(f.Time(f.Kernel("")).status == Status::kOk);
  const auto started = f.evaluator->stats().workers_started;
  CHECK(f.Time(f.Kernel("  // again")).status == Status::kOk);
  CHECK(f.Time(f.Kernel("  // and again")).status == Status::kOk);
  CHECK_EQ(f.evaluator->stats().workers_started, started);
}

TEST(ABaselineThatFailsBesideTheCandidateSaysNothing) {
  Baselines f;
  f.Add("fickle",
        f.Kernel("  static int calls = 0;\n  if (++calls > 3) return 9;"));
  const Result result = f.Time(kScaleKernel);
  CheckVerdict(result, Status::kInfraError, "run",
               "the problem's baseline fickle failed: ");
}

TEST(ClocksAreReadBeforeAndAfterTimedRuns) {
  setenv("JAXKERN_FAKE_CLOCKS", "1", 1);
  Fixture f;
  CHECK(!f.Evaluate(kScaleKernel).clocks);
  const Result result = f.Time(kScaleKernel);
  unsetenv("JAXKERN_FAKE_CLOCKS");
  CHECK(result.clocks.has_value());
  CHECK_EQ(result.clocks->before.sm_mhz, 1001);
  CHECK_EQ(result.clocks->after.sm_mhz, 1002);
  CHECK(!result.clocks->before.throttled && result.clocks->after.throttled);
  CHECK(!f.Time(kScaleKernel).clocks);
}

TEST(EveryContestantIsEquallyOftenInEveryPlace) {
  for (const size_t contestants : {1, 2, 3, 5}) {
    std::vector<std::vector<int>> count(contestants,
                                        std::vector<int>(contestants));
    for (size_t round = 0; round < 2 * contestants; ++round) {
      const auto order = RoundOrder(7, contestants, round);
      for (size_t place = 0; place < contestants; ++place) {
        ++count[order[place]][place];
      }
    }
    for (const auto& places : count) {
      for (const int times : places) CHECK_EQ(times, 2);
    }
  }
  std::set<std::vector<size_t>> first;
  for (uint64_t seed = 0; seed < 99; ++seed)
    first.insert(RoundOrder(seed, 3, 0));
  CHECK_EQ(first.size(), size_t{6});
}

int main() { return jaxkern::testing::RunTests(); }
