// What the protocol of checked and timed launches finds out, and what it leaves
// in peace: every cheat with an honest kernel that looks like it.
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bundle.h"
#include "check.h"
#include "fixture.h"
#include "jaxkern/evaluator.h"

using jaxkern::Request;
using jaxkern::Result;
using jaxkern::Status;
using jaxkern::testing::CheckVerdict;
using jaxkern::testing::Fixture;

namespace {

/// With six variants of the timed case.
struct Variants : Fixture {
  explicit Variants(const std::string& device = "cpu") : Fixture(device) {
    jaxkern::testing::WriteScaleVariants(bundle);
  }
};

void CheckCheat(const Result& result, const std::string& rule,
                const std::string& evidence) {
  CHECK_EQ(std::string(StatusName(result.status)), "cheating");
  CHECK_EQ(result.rule, rule);
  CHECK_HAS(result.evidence, evidence);
  CHECK_HAS(result.log, evidence);
  CHECK_EQ(result.speedup, 0.0);
}

/// Not only ok: with a time, and every timed launch compared.
void CheckHonest(const Result& result) {
  CheckVerdict(result, Status::kOk, "check", "");
  CHECK_EQ(result.rule, "");
  CHECK(result.speedup > 0);
  CHECK(result.launches_compared > static_cast<int>(result.times_us.size()));
}

}  // namespace

TEST(WritingPastTheEndIsARuntimeError) {
  Variants f;
  CheckVerdict(f.Evaluate(f.Kernel("", "  y[n] = y[n + 1] = 1;")),
               Status::kRuntimeError, "run",
               "wrote 8 bytes past the end of y\nthis happened in case n=2");
  CheckVerdict(f.Evaluate(f.Kernel("", "  y[-3] = 1;")), Status::kRuntimeError,
               "run", "wrote 4 bytes before the start of y, 8 bytes away");
  CheckVerdict(f.Evaluate(f.Kernel("", "  const_cast<float*>(x)[n] = 1;")),
               Status::kRuntimeError, "run", "past the end of x");
}

TEST(WritingPastTheEndInATimedLaunchIsFoundToo) {
  Variants f;
  CheckVerdict(f.Time(f.Kernel("  static int calls = 0;",
                               "  if (++calls == 9) y[n] = 1;")),
               Status::kRuntimeError, "run", "past the end of y");
  // Whichever of a batch's launches it is.
  Variants batches("cuda");
  for (const char* call : {"9", "10", "11", "12"}) {
    const std::string writes = std::string("  if (++calls == ") + call +
                               ") const_cast<float*>(x)[-1] = 1;";
    CheckVerdict(
        batches.Time(batches.Kernel("  static int calls = 0;", writes)),
        Status::kRuntimeError, "run", "before the start of x");
  }
}

TEST(WritingTheLastElementIsNotPastTheEnd) {
  Variants f;
  CheckHonest(f.Time(f.Kernel("", "  y[n - 1] = a * x[n - 1];")));
}

TEST(PreparationIsFreeOrRefusedAsTheTaskSays) {
  Variants f;
  const std::string prepares = f.Kernel(
      "  static bool prepared = false;\n"
      "  if (n == 3 && !prepared) {\n"
      "    fake(\"work\", 3); fake(\"wall\", 500); prepared = true;\n  }");
  Result result = f.Time(prepares);
  CheckHonest(result);
  CHECK_EQ(result.preparation, "free");
  CHECK_EQ(result.first_call_us, 520.0);

  std::ifstream file(f.bundle.path() + "/problem.json");
  nlohmann::json problem = nlohmann::json::parse(file);
  problem["preparation"] = "refused";
  f.bundle.Write("problem.json", problem.dump());
  CheckCheat(
      f.Time(prepares), "prepares",
      "the first launch ran 3 kernels, memsets and copies, timed ones 1");
  result = f.Time(f.Kernel(""));
  CheckHonest(result);
  CHECK_EQ(result.preparation, "refused");
}

TEST(SkippingWorkInLaterCallsIsCheating) {
  Variants f;
  CheckCheat(f.Time(f.Kernel("  static int calls = 0;\n"
                             "  if (++calls > 6) return 0;")),
             "skipped_work", "never written");
}

TEST(SkippingWorkIsFoundWithoutVariantsToo) {
  Fixture f;
  CheckCheat(f.Time(f.Kernel("  static int calls = 0;\n"
                             "  if (++calls > 6) return 0;")),
             "skipped_work", "never written");
}

TEST(ACounterThatChangesNothingIsHonest) {
  Variants f;
  CheckHonest(f.Time(f.Kernel("  static int calls = 0; ++calls;")));
}

TEST(AnAnswerRememberedByPointerIsCheating) {
  Variants f;
  CheckCheat(f.Time("#include <map>\n#include <vector>\n" +
                    f.Kernel("  static std::map<const float*,"
                             " std::vector<float>> known;\n"
                             "  if (n == 2) known.clear();\n"
                             "  auto& answer = known[x];\n"
                             "  if (answer.size() == n) {\n"
                             "    for (long i = 0; i < n; ++i)"
                             " y[i] = answer[i];\n"
                             "    return 0;\n  }",
                             "  answer.assign(y, y + n);")),
             "remembered_answer", "gave the answer to other inputs");
}

TEST(AWorkspaceAllocatedOnceIsHonest) {
  Variants f;
  CheckHonest(
      f.Time(f.Kernel("  static float* workspace = new float[64];\n"
                      "  for (long i = 0; i < n; ++i) workspace[i] ="
                      " x[i];")));
}

TEST(TimesThatTellKnownInputsFromNewOnesAreCheating) {
  Variants f;
  CheckCheat(f.Time("#include <set>\n" +
                    f.Kernel("  static std::set<float> known;\n"
                             "  fake(\"us\", known.insert(x[n - 1]).second"
                             " ? 50 : 2);")),
             "remembered_inputs", "launches with new inputs took 50.0 us");
}

TEST(TimesOfSingleLaunchesTellWhereBatchesCannot) {
  Variants f("cuda");
  const std::string remembers =
      "#include <set>\n#include <vector>\n" +
      f.Kernel(
          "  static std::set<std::vector<float>> known;\n"
          "  const bool is_new = known.insert({x, x + n}).second;\n"
          "  fake(\"us\", is_new ? 50 : 2);");
  CheckCheat(f.Time(remembers), "remembered_inputs",
             "launches with new inputs took 50.0 us");
  CheckHonest(
      f.Time(f.Kernel("  static int calls = 0;\n"
                      "  fake(\"us\", ++calls % 4 == 0 ? 50 : 2);")));
}

TEST(SkippingTheSamePointersIsFoundWhereBatchesHaveMany) {
  Variants f("cuda");
  const std::string skips = f.Kernel(
      "  static int calls = 0;\n  static const float* last = nullptr;\n"
      "  if (++calls > 2 && x == last) return 0;\n  last = x;");
  CheckCheat(f.Time(skips), "skipped_work",
             "the launch before the timed ones did not do");
  CheckHonest(
      f.Time(f.Kernel("  static const float* last = nullptr;\n  last = x;")));
}

TEST(AKernelThatIsSlowNowAndThenIsHonest) {
  Variants f;
  CheckHonest(
      f.Time(f.Kernel("  static int calls = 0;\n"
                      "  fake(\"us\", ++calls % 4 == 0 ? 50 : 2);")));
}

TEST(ARaceThatLosesInATimedLaunchIsWrongAndNoCheat) {
  Variants f;
  const Result result = f.Time(
      f.Kernel("  static int calls = 0;", "  if (++calls == 9) y[1] += 1;"));
  CheckVerdict(result, Status::kWrongAnswer, "check",
               "the checked launch was right, but timed launch ");
  CHECK_HAS(result.log, "y: 1 of 3 elements wrong");
  CHECK_EQ(result.rule, "");
  CHECK_EQ(result.mismatches, 1);
}

TEST(AnInputModifiedInATimedLaunchIsWrong) {
  Variants f;
  CheckVerdict(f.Time(f.Kernel("  static int calls = 0;",
                               "  if (++calls == 9)"
                               " const_cast<float*>(x)[1] = 0;")),
               Status::kWrongAnswer, "check", "modified its input x");
}

TEST(OutputFinishedByAThreadIsCheating) {
  Variants f;
  const std::string thread = "#include <thread>\n#include <unistd.h>\n";
  CheckCheat(
      f.Evaluate(thread + "extern \"C\" int launch(const float* x, float* y,"
                          " long n, float a, cudaStream_t) {\n"
                          "  std::thread([=] { usleep(3000); for (long i = 0;"
                          " i < n; ++i) y[i] = a * x[i]; }).detach();\n"
                          "  return 0;\n}\n"),
      "late_output", "y changed after the stream had finished");
}

TEST(AThreadThatIsJoinedIsHonest) {
  Variants f;
  CheckHonest(
      f.Time("#include <thread>\n" + f.Kernel("  std::thread([] {}).join();")));
}

TEST(AThreadLeftBehindIsCheating) {
  Variants f;
  CheckCheat(f.Evaluate("#include <thread>\n#include <unistd.h>\n" +
                        f.Kernel("  std::thread([] { sleep(9); }).detach();")),
             "left_threads", "2 host threads were still there");
}

TEST(AThreadOfAConstructorIsCheatingToo) {
  Variants f;
  CheckCheat(f.Evaluate("#include <thread>\n#include <unistd.h>\n" +
                        f.Kernel("", "",
                                 "static bool started = [] {\n"
                                 "  std::thread([] { sleep(9); }).detach();\n"
                                 "  return true;\n}();\n")),
             "left_threads", "1 host threads were still there");
}

TEST(AConstructorThatFillsATableIsHonest) {
  Variants f;
  CheckHonest(f.Time("#include <vector>\n" +
                     f.Kernel("  y[0] = table[1];", "",
                              "static std::vector<float> table(9, 1.0f);")));
}

TEST(WorkThatTheEventsDoNotSeeIsCheating) {
  Variants f;
  CheckCheat(f.Time(f.Kernel("  fake(\"late\", 400);")), "hidden_work",
             "still busy 400 us after the given stream had finished");
  CheckCheat(f.Time(f.Kernel("  fake(\"wall\", 900);")), "hidden_work",
             "launches took 920 us on the wall clock and 2.0 us between");
  CheckCheat(f.Time(f.Kernel("  fake(\"unjoined\", 1);")), "hidden_work",
             "1 launches on streams that the given stream was not made to");
}

TEST(ABusyHostNowAndThenIsHonest) {
  Variants f;
  CheckHonest(
      f.Time(f.Kernel("  static int calls = 0;\n"
                      "  fake(\"late\", ++calls % 2 * 400);\n"
                      "  fake(\"wall\", calls % 2 * 900);")));
}

TEST(WorkOnTheHostIsCheating) {
  Variants f;
  CheckCheat(f.Time(f.Kernel("  fake(\"us\", 900); fake(\"wall\", 900);"
                             " fake(\"host\", 800);")),
             "host_work",
             "spent 800 us of processor time on the host and 0 us in");
  CheckCheat(f.Evaluate(f.Kernel("  fake(\"work\", 0);")), "no_kernel",
             "no kernel was launched");
}

TEST(ScalarArithmeticOnTheHostIsHonest) {
  Variants f;
  CheckHonest(f.Time(f.Kernel("  fake(\"host\", 100);")));
}

TEST(AnEmptyLaunchIsWrongAndNoCheat) {
  Variants f;
  CheckVerdict(f.RunBody("  fake(\"work\", 0);",
                         "extern \"C\" void fake(const char*, double);"),
               Status::kWrongAnswer, "check", "never written");
}

TEST(ATimeBelowWhatMemoryAllowsIsCheating) {
  Variants f;  // 12 bytes at 8 bytes per microsecond
  CheckCheat(f.Time(f.Kernel("  fake(\"us\", 1.4);")), "below_floor",
             "reading the 12 bytes of input alone takes 1.50 us");
  CheckHonest(f.Time(f.Kernel("  fake(\"us\", 1.6);")));
}

TEST(WithoutAFlushInputsMayComeFromTheCache) {
  Variants f;
  Request request = f.MakeRequest(f.Kernel("  fake(\"us\", 1.4);"));
  request.repetitions = 10;
  request.flush = false;
  CheckHonest(f.evaluator->Evaluate({request})[0]);
}

TEST(SlowWarmUpsDoNotMakeTheSampleSmall) {
  Variants f;
  const Result result =
      f.Time(f.Kernel("  static int calls = 0;\n"
                      "  fake(\"us\", ++calls < 6 ? 1e6 : 2);"));
  CheckHonest(result);
  CHECK(result.times_us.size() >= 10);
}

TEST(RepetitionsEndWhenTheMedianIsKnown) {
  Variants f;
  const Result steady = f.Time(f.Kernel(""), 200);
  CheckHonest(steady);
  CHECK_EQ(steady.times_us.size(), size_t{10});
  const Result noisy = f.Time(f.Kernel("  static int calls = 0;\n"
                                       "  fake(\"us\", 2 + ++calls % 9);"),
                              200);
  CheckHonest(noisy);
  CHECK_EQ(noisy.times_us.size(), size_t{200});
}

TEST(BatchesAreComparedToo) {
  Variants f("cuda");
  const Result honest = f.Time(f.Kernel(""));
  CheckHonest(honest);
  CHECK_EQ(honest.times_us[0], 2.0);  // of one launch
  // Three of each batch's four launches, and the one before them.
  const auto samples = static_cast<int>(honest.times_us.size());
  CHECK(honest.launches_compared > 3 * samples);
  CHECK(honest.launches_compared < 4 * samples);
  // Only the first launch of each batch of four works.
  CheckCheat(f.Time(f.Kernel("  static int calls = 0;\n"
                             "  if (++calls > 8 && calls % 4 != 0) return 0;")),
             "skipped_work", "never written");
  // One of them, whichever it is, does not.
  for (const char* skipped : {"0", "1", "2", "3"}) {
    CheckCheat(
        f.Time(f.Kernel(std::string("  static int calls = 0;\n"
                                    "  if (++calls > 8 && calls % 4 == ") +
                        skipped + ") return 0;")),
        "skipped_work", "never written");
  }
}

TEST(BatchesStayWithinTheMemoryBudget) {
  Variants f("cuda");
  // One launch's arrays and the zones around them take 65,560 bytes.
  f.options.memory_bytes = 100000;
  f.evaluator.reset();
  f.evaluator = std::make_unique<jaxkern::Evaluator>(f.options);
  const Result result = f.Time(f.Kernel(""));
  CheckHonest(result);
  CHECK(result.launches_compared <
        static_cast<int>(2 * result.times_us.size()));
}

TEST(WhatTheLinkerLeftIsInspectedBeforeItRuns) {
  Fixture f;
  const Result result = f.Evaluate(
      f.Kernel("  static void* library = dlopen(\"libm.so.6\", 1);", "",
               "extern \"C\" void* dlopen(const char*, int);\n"));
  CheckCheat(result, "loads_code", "imports dlopen");
  CHECK_EQ(result.stage, "link");
  CHECK_EQ(result.launches_compared, 0);
}

TEST(AReplayGivesTheSameLog) {
  Variants f;
  const std::string wrong = f.Kernel("", "  y[0] += 1;");
  const Result first = f.Evaluate(wrong);
  CHECK_EQ(first.replay.problem_hash.size(), size_t{16});
  CHECK_EQ(first.replay.request.source, wrong);
  CHECK(first.replay.request.seed != 0);
  CHECK_EQ(first.replay.device, "cpu");
  Request request = first.replay.request;
  for (int i = 0; i < 3; ++i) {
    const Result again = f.evaluator->Evaluate({request})[0];
    CHECK_EQ(again.log, first.log);
    CHECK_EQ(again.replay.request.seed, request.seed);
  }
  const auto json = nlohmann::json::parse(ToJson(first))["replay"];
  CHECK_EQ(json["seed"].get<std::string>(), std::to_string(request.seed));
  CHECK_EQ(json["problem"].get<std::string>(), f.bundle.path());
}

TEST(OtherEvaluationsSeeOtherInputs) {
  Variants f;
  const std::string wrong = f.Kernel("", "  y[0] += 1;");
  const std::string first = f.Evaluate(wrong).log;
  bool other = false;
  for (int i = 0; i < 40 && !other; ++i) other = f.Evaluate(wrong).log != first;
  CHECK(other);
}

int main() { return jaxkern::testing::RunTests(); }
