// The pipeline from request to result, over the fake toolchain and device.
#include "jaxkern/evaluator.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "bundle.h"
#include "check.h"
#include "fixture.h"

using jaxkern::Evaluator;
using jaxkern::Options;
using jaxkern::Request;
using jaxkern::Result;
using jaxkern::Status;
using jaxkern::testing::CheckVerdict;
using jaxkern::testing::EndlessSource;
using jaxkern::testing::Fixture;
using jaxkern::testing::kScaleKernel;

TEST(ARightKernelIsOk) {
  Fixture f;
  const Result result = f.Evaluate(kScaleKernel);
  CheckVerdict(result, Status::kOk, "check", "");
  CHECK_EQ(result.log, "");
  CHECK_EQ(result.mismatches, 0);
  CHECK_EQ(result.resources.registers, 7);
  CHECK(result.compile_s > 0);
  CHECK(!result.cache_hit);
  CHECK(result.times_us.empty());
  CHECK_HAS(result.device, "fake device");
}

TEST(AKernelIsCompiledOnce) {
  Fixture f;
  f.Evaluate(kScaleKernel);
  const Result again = f.Evaluate(kScaleKernel);
  CHECK(again.cache_hit);
  CHECK_EQ(again.compile_s, 0.0);
  CHECK(again.status == Status::kOk);
  const Result broken = f.Evaluate("int launch = y;");
  const Result broken_again = f.Evaluate("int launch = y;");
  CHECK(broken_again.cache_hit);
  CHECK_EQ(broken_again.log, broken.log);
}

TEST(NoSourceIsAnExtractError) {
  Fixture f;
  CheckVerdict(f.Evaluate(" \n"), Status::kExtractError, "extract",
               "extern \"C\" int launch(const float* x");
}

TEST(CompilerErrorsAreShown) {
  Fixture f;
  CheckVerdict(f.RunBody("  undeclared = 3;"), Status::kCompileError, "compile",
               "kernel.cc:3:3: error: 'undeclared' was not declared");
}

TEST(AnotherSignatureIsACompileErrorThatShowsBoth) {
  Fixture f;
  const Result result =
      f.Evaluate("extern \"C\" int launch(float* y, cudaStream_t) {return 0;}");
  CheckVerdict(result, Status::kCompileError, "compile", "signature:1:");
  CHECK_HAS(result.log, "kernel.cc:1:16: note: previous declaration");
}

TEST(AMissingLaunchIsALinkError) {
  Fixture f;
  CheckVerdict(f.Evaluate("int other() { return 0; }\n#define F launch\n"),
               Status::kLinkError, "link",
               "undefined symbol: launch\nexpected the kernel to "
               "define extern \"C\" int launch(const float* x, float* y");
}

TEST(HopelessTextIsRejectedWithoutACompiler) {
  Fixture f;
  CheckVerdict(f.Evaluate("__global__ void f() {}"), Status::kLinkError, "link",
               "nothing in the text is named `launch`\nexpected the kernel to "
               "define extern \"C\" int launch(const float* x, float* y");
  CheckVerdict(f.Evaluate("int launch() {\n  if (x) {\n"),
               Status::kCompileError, "compile",
               "line 2: '{' is never closed, nor is the '{' of line 1");
  CheckVerdict(f.Evaluate("nonsense"), Status::kExtractError, "extract",
               "no kernel: ");
  const jaxkern::Stats stats = f.evaluator->stats();
  CHECK_EQ(stats.rejected, 3);
  CHECK_EQ(stats.results, 3);
  CHECK_EQ(stats.cache_misses, 0);
}

TEST(HitsAndMissesAreCountedAndExplained) {
  Fixture f;
  f.options.explain_misses = true;
  f.evaluator = std::make_unique<Evaluator>(f.options);
  const Result miss = f.Evaluate(kScaleKernel);
  CHECK_HAS(miss.cache_miss, "never seen");
  const Result hit = f.Evaluate(kScaleKernel);
  CHECK(hit.cache_hit);
  CHECK_EQ(hit.cache_miss, "");
  std::string other = kScaleKernel;
  other.replace(other.find("a * x[i]"), 8, "x[i] * a");
  const Result changed = f.Evaluate(other);
  CHECK_EQ(changed.cache_miss,
           "source: line 3 is `for (long i = 0; i < n; ++i) y[i] = x[i] * a;`"
           ", in the nearest stored one `for (long i = 0; i < n; ++i) y[i] = "
           "a * x[i];`");
  const jaxkern::Stats stats = f.evaluator->stats();
  CHECK_EQ(stats.cache_hits, 1);
  CHECK_EQ(stats.cache_misses, 2);
  CHECK_EQ(stats.cache_joined, 0);
  CHECK(stats.cache_bytes > 1000);
}

TEST(AMissingFunctionIsNamedAsItWasWritten) {
  Fixture f;
  CheckVerdict(f.RunBody("  helper(1);", "void helper(int);"),
               Status::kLinkError, "link", "undefined symbol: helper(int)");
}

TEST(AMissingFeatureIsUnsupported) {
  Fixture f;
  CheckVerdict(f.RunBody("  // wmma"), Status::kUnsupported, "compile",
               "does not support wmma");
}

TEST(AWrongAnswerShowsWhereAndWhichCasesWereRight) {
  Fixture f;
  const Result result =
      f.RunBody("  for (long i = 0; i < n; ++i) y[i] = a * x[i] + (i == 2);");
  CheckVerdict(result, Status::kWrongAnswer, "check",
               "case n=3, a=2.0: y: 1 of 3 elements wrong, max abs error 1\n"
               "  y[2] = 15, expected 14\n");
  CHECK_HAS(result.log, "right in cases: n=2, a=2.0");
  CHECK_EQ(result.mismatches, 1);
  CHECK_EQ(result.max_abs_error, 1.0);
  CHECK_EQ(result.max_rel_error, 1.0 / 14);
}

TEST(WhatIsNotWrittenIsCalledSo) {
  Fixture f;
  const Result result = f.RunBody("  y[0] = a * x[0];");
  CheckVerdict(result, Status::kWrongAnswer, "check",
               "y[1] = never written, expected -6");
  CHECK_EQ(result.mismatches, 3);
}

TEST(AComputedNanIsNonfinite) {
  Fixture f;
  CheckVerdict(
      f.RunBody("  for (long i = 0; i < n; ++i) y[i] = __builtin_nanf(\"\");"),
      Status::kNonfinite, "check",
      "3 of 3 elements wrong, 3 of them NaN or Inf");
}

TEST(AModifiedInputIsAWrongAnswer) {
  Fixture f;
  CheckVerdict(f.RunBody("  for (long i = 0; i < n; ++i) y[i] = a * x[i];\n"
                         "  const_cast<float*>(x)[1] = 9;"),
               Status::kWrongAnswer, "check", "modified its input x");
}

TEST(ACrashIsARuntimeErrorThatNamesTheSignal) {
  Fixture f;
  const Result result =
      f.RunBody("  __builtin_puts(\"before\"); *(volatile int*)0 = n;");
  CheckVerdict(result, Status::kRuntimeError, "run",
               "segmentation fault in case n=2, a=2.0\n");
  CHECK_HAS(result.log, "printed: before");
}

TEST(AnAssertIsARuntimeErrorWithItsMessage) {
  Fixture f;
  CheckVerdict(f.RunBody("  assert(n == 7);", "#include <assert.h>"),
               Status::kRuntimeError, "run", "Assertion `n == 7' failed");
}

TEST(ExitIsNoWayToPass) {
  Fixture f;
  CheckVerdict(f.RunBody("  exit(0);", "#include <stdlib.h>"),
               Status::kRuntimeError, "run", "exited with code 0 instead of");
  CheckVerdict(f.RunBody("  _exit(0);", "#include <unistd.h>"),
               Status::kRuntimeError, "run", "exited with code 0 instead of");
}

TEST(AnExceptionIsARuntimeError) {
  Fixture f;
  CheckVerdict(
      f.RunBody("  throw std::runtime_error(\"oh\");", "#include <stdexcept>"),
      Status::kRuntimeError, "run", "uncaught exception in launch: oh");
}

TEST(ReturnedErrorsAreSortedByWhoseTheyAre) {
  Fixture f;
  CheckVerdict(f.RunBody("  return 9;"), Status::kLaunchError, "run",
               "launch returned cudaErrorInvalidConfiguration (9)\nthis "
               "happened in case n=2, a=2.0");
  CheckVerdict(f.RunBody("  return 2;"), Status::kOutOfMemory, "run", "");
  CheckVerdict(f.RunBody("  return 700;"), Status::kRuntimeError, "run",
               "illegal address");
}

// These forbid a limit, and end the process themselves.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(MemoryWithoutEndIsOutOfMemory) {
  Fixture f;
  CheckVerdict(f.RunBody("  while (true) new char[1 << 28];"),
               Status::kOutOfMemory, "run", "std::bad_alloc");
}
#endif

TEST(AnEndlessKernelIsATimeout) {
  Fixture f;
  Request request = f.MakeRequest(
      "extern \"C\" int launch(const float*, float*, long, float, "
      "cudaStream_t) { while (true) __builtin_puts(\"still here\"); }");
  request.run_timeout_s = 0.3;
  const auto start = std::chrono::steady_clock::now();
  const Result result = f.evaluator->Evaluate({request})[0];
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - start;
  CheckVerdict(result, Status::kTimeout, "run",
               "running took longer than 0.3 s in case n=2");
  CHECK(took.count() < 10);
}

TEST(AnEndlessCompilationIsATimeout) {
  Fixture f;
  Request request = f.MakeRequest(EndlessSource(f.bundle));
  request.compile_timeout_s = 0.5;
  CheckVerdict(f.evaluator->Evaluate({request})[0], Status::kTimeout, "compile",
               "compiling took longer than 0.5 s");
}

TEST(TimesAreTakenOfTheTimedCasesAndOfTheBaseline) {
  Fixture f;
  Request request = f.MakeRequest(f.Kernel("  fake(\"us\", 1.6);"));
  request.repetitions = 5;
  const Result result = f.evaluator->Evaluate({request})[0];
  CheckVerdict(result, Status::kOk, "check", "");
  CHECK_EQ(result.times_us.size(), size_t{5});
  CHECK_EQ(result.times_us[0], 1.6);
  CHECK_EQ(result.baseline_us, 2.0);
  CHECK_EQ(result.speedup, 1.25);
}

TEST(EqualRequestsShareOneResult) {
  Fixture f;
  Request request = f.MakeRequest(kScaleKernel);
  request.repetitions = 3;
  const auto results = f.evaluator->Evaluate(
      {request, f.MakeRequest("launch"), request, request});
  CHECK(results[1].status == Status::kCompileError);
  for (size_t i : {2, 3}) CHECK_EQ(ToJson(results[i]), ToJson(results[0]));
  CHECK(!results[3].cache_hit);
}

TEST(SubmittedRequestsComeBackWithTheirTickets) {
  Fixture f;
  const uint64_t good = f.evaluator->Submit(f.MakeRequest(kScaleKernel));
  const uint64_t bad = f.evaluator->Submit(f.MakeRequest("launch"));
  CHECK(good != bad);
  CHECK_EQ(f.evaluator->Pending(), size_t{2});
  for (int i = 0; i < 2; ++i) {
    const auto next = f.evaluator->Next();
    CHECK(next.has_value());
    CHECK(next->second.status ==
          (next->first == good ? Status::kOk : Status::kCompileError));
  }
  CHECK(!f.evaluator->Next());
  CHECK_EQ(f.evaluator->Pending(), size_t{0});
}

TEST(NextGivesUpInTime) {
  Fixture f;
  f.evaluator->Submit(f.MakeRequest(EndlessSource(f.bundle)));
  CHECK(!f.evaluator->Next(0.05));
}

TEST(WhatPollThrowsLeavesEvaluate) {
  Fixture f;
  const auto interrupt = [] { throw std::runtime_error("interrupted"); };
  const Request slow = f.MakeRequest(
      "#include <unistd.h>\n"
      "extern \"C\" int launch(const float*, float*, long, float, "
      "cudaStream_t) { sleep(1); return 0; }");
  CHECK_THROWS(f.evaluator->Evaluate({slow}, interrupt), std::runtime_error,
               "interrupted");
  CHECK(f.Evaluate(kScaleKernel).status == Status::kOk);
}

TEST(ACpuWorkerServesOneCandidate) {
  Fixture f;
  const std::string source =
      "static int calls = 0;\n"
      "extern \"C\" int launch(const float* x, float* y, long n, float a,\n"
      "                      cudaStream_t) {\n"
      "  for (long i = 0; i < n; ++i) y[i] = a * x[i];\n"
      "  return ++calls > 2;\n"  // two cases
      "}\n";
  CHECK(f.Evaluate(source).status == Status::kOk);
  CHECK(f.Evaluate(source).status == Status::kOk);
}

TEST(ACudaWorkerIsKeptUntilAKernelHarmsIt) {
  Fixture f("cuda");
  // Answers with the number of its process in place of the sum.
  const auto process = [&f] {
    const Result result =
        f.RunBody("  y[0] = getpid();", "#include <unistd.h>");
    const std::string text = result.log;
    const size_t at = text.find("y[0] = ");
    return text.substr(at, text.find(',', at) - at);
  };
  const std::string first = process();
  CHECK_HAS(first, "y[0] = ");
  CHECK_EQ(process(), first);
  CHECK(f.RunBody("  return 700;").status == Status::kRuntimeError);
  CHECK(process() != first);
}

TEST(MisuseIsRefusedWithTheArgumentsName) {
  Fixture f;
  Request request = f.MakeRequest(kScaleKernel);
  request.repetitions = -1;
  CHECK_THROWS(f.evaluator->Submit(request), std::invalid_argument,
               "repetitions: expected 0 to 1000, got -1");
  request = f.MakeRequest(kScaleKernel);
  request.run_timeout_s = 0;
  CHECK_THROWS(f.evaluator->Submit(request), std::invalid_argument,
               "run_timeout_s: expected");
  request = f.MakeRequest(kScaleKernel);
  request.problem = "/nowhere";
  CHECK_THROWS(f.evaluator->Evaluate({request}), std::invalid_argument,
               "/nowhere/problem.json: expected a readable file");

  Options options = f.options;
  options.device = "tpu";
  CHECK_THROWS(Evaluator{options}, std::invalid_argument,
               "device: expected \"cpu\" or \"cuda\", got \"tpu\"");
  options = f.options;
  options.compiler = "nope";
  CHECK_THROWS(Evaluator{options}, std::invalid_argument,
               "compiler: not found");
  options = f.options;
  options.run_workers = 0;
  CHECK_THROWS(Evaluator{options}, std::invalid_argument,
               "run_workers: expected at least 1, got 0");
  options = f.options;
  options.cache_dir = "/proc/nowhere";
  CHECK_THROWS(Evaluator{options}, std::invalid_argument,
               "cache_dir: expected a writable directory, got /proc/nowhere");
}

TEST(AResultIsOneLineOfJson) {
  Result result;
  result.status = Status::kWrongAnswer;
  result.log = "a \"b\"\n";
  const std::string text = ToJson(result);
  CHECK(text.find('\n') == std::string::npos);
  const auto parsed = nlohmann::json::parse(text);
  CHECK_EQ(parsed["status"].get<std::string>(), "wrong_answer");
  CHECK_EQ(parsed["log"].get<std::string>(), "a \"b\"\n");
  CHECK_EQ(parsed["resources"]["registers"].get<int>(), -1);
}

int main() { return jaxkern::testing::RunTests(); }
