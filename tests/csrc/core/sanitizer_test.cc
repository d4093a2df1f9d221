// The whole way of a diagnosis by compute-sanitizer, with a script in its place
// and the fake device under it.
#include "core/sanitizer.h"

#include <sys/stat.h>

#include <chrono>

#include "bundle.h"
#include "check.h"
#include "core/sandbox.h"

namespace {

using jaxkern::Evaluator;
using jaxkern::Options;
using jaxkern::ParseArrays;
using jaxkern::PlacedArray;
using jaxkern::Request;
using jaxkern::Result;
using jaxkern::SanitizerTools;
using jaxkern::Status;
using jaxkern::testing::TemporaryDirectory;
using jaxkern::testing::WriteScaleBundle;

// Takes the flags as the real one does, runs its target as a child and leaves a
// log. `last` is the last array that the target has announced, y.
const char kScript[] = R"sh(#!/bin/sh
while true; do
  case $1 in
    --tool=*) tool=${1#*=} ;;
    --log-file=*) log=${1#*=} ;;
    --*) ;;
    *) break ;;
  esac
  shift
done
(: >&3) 2> /dev/null && descriptor=yes
)sh";

const char kRun[] = R"sh(
"$@"
last=$(tail -n 1 arrays)
say() { echo "========= $*" >> "$log"; }
say COMPUTE-SANITIZER
)sh";

struct Bench {
  /// A script that goes on like this, and perhaps does that before.
  explicit Bench(const std::string& script, const std::string& before = "") {
    WriteScaleBundle(bundle);
    const std::string path =
        tool.Write("compute-sanitizer", kScript + before + kRun + script);
    chmod(path.c_str(), 0700);
    setenv("JAXKERN_TEST_SANITIZER", path.c_str(), 1);
    Options options;
    options.device = "cuda";
    options.cache_dir = cache.path();
    evaluator = std::make_unique<Evaluator>(options);
  }
  ~Bench() { unsetenv("JAXKERN_TEST_SANITIZER"); }

  /// What is said of a launch with this body.
  std::string Diagnose(const std::string& body, double run_timeout_s = 20) {
    Request request;
    request.problem = bundle.path();
    request.source =
        "extern \"C\" int launch(const float* x, float* y, long n, float a, "
        "cudaStream_t) { " +
        body + " }\n";
    request.diagnose = true;
    request.run_timeout_s = run_timeout_s;
    result = evaluator->Evaluate({request})[0];
    return result.diagnosis;
  }

  TemporaryDirectory bundle, cache, tool;
  std::unique_ptr<Evaluator> evaluator;
  Result result;
};

const char kPastTheEnd[] = R"sh(
say 'Invalid __global__ write of size 4 bytes'
say '    at scale(float *)+0x100 in kernel.cc:12'
say '    by thread (36,0,0) in block (0,0,0)'
set -- $last
say "    Access to $(printf 0x%x $(($3 + 8))) is out of bounds"
)sh";

TEST(AFaultNamesLineArrayThreadAndTheCaseThatFails) {
  Bench bench(kPastTheEnd);
  // The smaller case is right, so the target goes on to the larger.
  CHECK_EQ(bench.Diagnose("for (long i = 0; i < n; ++i) y[i] = a * x[i]; "
                          "return n == 3 ? 700 : 0;"),
           "kernel.cc:12: out-of-bounds write of y[2] (y has 3 elements) by "
           "thread (36,0,0) of block (0,0,0), in case n=3, a=2.0");
  CHECK(bench.result.status == Status::kRuntimeError);
  CHECK_HAS(bench.Diagnose("return 700;"), "(y has 2 elements)");
}

TEST(TheTargetGetsTheInputsOfTheCheckedLaunch) {
  Bench bench(R"sh(say "case $(echo $last | cut -d ' ' -f 1)")sh");
  // Runs on to the second case only with the inputs of the first.
  CHECK_HAS(bench.Diagnose("return n == 2 && x[0] == 1 && x[1] == -3 && a == 2 "
                           "? 0 : 700;"),
            "kernel.cc: case 1, in case n=3");
}

TEST(ToolsAreTriedUntilOneFindsSomething) {
  Bench bench(R"sh(
case $tool in
  initcheck)
    say "Uninitialized __global__ memory read of size 4 bytes"
    set -- $last
    say "    Address $(printf 0x%x $3)" ;;
  memcheck) say "Odd end" ;;
esac
)sh");
  // A wrong answer: racecheck is silent, initcheck is next.
  CHECK_HAS(bench.Diagnose("return 0;"),
            "read of y[0], which nothing has written yet, in case n=3");
  CHECK(bench.result.status == Status::kWrongAnswer);
  CHECK_HAS(bench.Diagnose("return 700;"), "kernel.cc: Odd end");
}

TEST(ToolsDependOnHowItEnded) {
  CHECK_EQ(std::string(SanitizerTools(Status::kRuntimeError)[0]), "memcheck");
  CHECK_EQ(std::string(SanitizerTools(Status::kWrongAnswer)[0]), "racecheck");
  CHECK_EQ(std::string(SanitizerTools(Status::kNonfinite)[1]), "initcheck");
  CHECK_EQ(std::string(SanitizerTools(Status::kTimeout)[0]), "synccheck");
}

TEST(WhatTheCheckerCannotBuildIsExamined) {
  Bench bench(kPastTheEnd);
  CHECK_HAS(bench.Diagnose("/* wmma */ return 700;"),
            "kernel.cc:12: out-of-bounds write of y[2] (y has 2 elements)");
}

TEST(TheCheckersFindingComesFirst) {
  Bench bench(kPastTheEnd);
  CHECK_EQ(bench.Diagnose("return 10000;"),
           "kernel.cc: a fault, in case n=2, a=2.0");
}

TEST(NothingFoundIsNothingSaid) {
  Bench bench("");
  CHECK_EQ(bench.Diagnose("return 700;"), "");
}

TEST(TheToolHasNoDescriptorsAndWritesNowhereElse) {
  Bench bench(R"sh(
touch "$0.touched" 2> /dev/null && outside=written
say "descriptor ${descriptor:-no}, elsewhere ${outside:-no}, in $TMPDIR/x"
)sh");
  const std::string said = bench.Diagnose("return 700;");
  CHECK_HAS(said, "kernel.cc: descriptor no, elsewhere ");
  if (jaxkern::MakeRuleset({})) CHECK_HAS(said, "elsewhere no, in x");
}

TEST(AToolThatDoesNotStartUnderLandlockRunsWithout) {
  Bench bench("say \"elsewhere: $outside\"",
              "touch \"$0.touched\" || exit 1\noutside=written\n");
  CHECK_HAS(bench.Diagnose("return 700;"), "kernel.cc: elsewhere: written");
}

TEST(AToolThatNeverStartsIsNoDiagnosis) {
  Bench bench("say 'Nothing ran'", "exit 1\n");
  CHECK_EQ(bench.Diagnose("return 700;"), "");
}

TEST(AToolThatHangsEndsInTime) {
  Bench bench("say 'Before the end'; [ -z \"$last\" ] || sleep 1000");
  const auto start = std::chrono::steady_clock::now();
  CHECK_HAS(bench.Diagnose("return 700;", /*run_timeout_s=*/4),
            "Before the end");
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(15));
  CHECK_HAS(bench.Diagnose("return 701;", 4), "Before the end");
}

TEST(AnEndlessTargetEndsBeforeItsTool) {
  Bench bench("say 'After the target'");
  CHECK_HAS(bench.Diagnose("for (volatile int go = 1; go;) {} return 0;",
                           /*run_timeout_s=*/3),
            "After the target");
  CHECK(bench.result.status == Status::kTimeout);
}

TEST(ArraysThatMakeNoSenseArePassedOver) {
  jaxkern::Problem problem;
  using Kind = jaxkern::Argument::Kind;
  problem.arguments = {{"x", Kind::kInput, jaxkern::Dtype::kFloat64, {}},
                       {"n", Kind::kAttribute, jaxkern::Dtype::kInt64, {}}};
  jaxkern::Case c;
  c.label = "n=3";
  c.inputs = {{0, {3}, 0, 24}};
  problem.cases = {jaxkern::Case(), c};
  const std::vector<PlacedArray> arrays = ParseArrays(
      "0 0 4096\n0 1 5\n0 7 5\n1 0 5\nnonsense\n0 0\n-1 -1 5\n", problem, {1});
  CHECK_EQ(arrays.size(), size_t{1});
  CHECK_EQ(arrays[0].name + arrays[0].label, "xn=3");
  CHECK_EQ(arrays[0].address, uint64_t{4096});
  CHECK_EQ(arrays[0].bytes, size_t{24});
  CHECK_EQ(arrays[0].element, size_t{8});
}

}  // namespace

int main() { return jaxkern::testing::RunTests(); }
