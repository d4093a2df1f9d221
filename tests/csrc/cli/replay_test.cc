// Replays over the fake toolchain and device.
#include "cli/replay.h"

#include <stdexcept>

#include "bundle.h"
#include "check.h"

using jaxkern::Evaluator;
using jaxkern::Options;
using jaxkern::Request;
using jaxkern::Result;
using jaxkern::Status;
using jaxkern::testing::kScaleKernel;
using jaxkern::testing::TemporaryDirectory;
using jaxkern::testing::WriteScaleBundle;

namespace {

struct Fixture {
  Fixture() {
    WriteScaleBundle(bundle);
    options.cache_dir = cache.path();
  }

  Result Evaluate(const std::string& source) const {
    Request request;
    request.problem = bundle.path();
    request.source = source;
    Evaluator evaluator(options);
    return evaluator.Evaluate({request})[0];
  }

  int Replay(const std::string& text) const {
    return jaxkern::ReplayFile(cache.Write("result.json", text), options);
  }

  TemporaryDirectory bundle, cache;
  Options options;
};

}  // namespace

TEST(AVerdictIsReproduced) {
  const Fixture f;
  const std::string right = ToJson(f.Evaluate(kScaleKernel));
  CHECK_EQ(f.Replay(right), 0);
  // As jaxkern-eval prints it: with more keys, one a line.
  const std::string wrong = ToJson(f.Evaluate("int x = y;")).substr(1);
  CHECK_EQ(f.Replay("{\"file\":\"x\"," + wrong + "\n\n" + right + "\n"), 0);
}

TEST(AnotherVerdictDisagrees) {
  const Fixture f;
  Result result = f.Evaluate(kScaleKernel);
  result.status = Status::kWrongAnswer;
  CHECK_EQ(f.Replay(ToJson(result)), 3);
}

TEST(ABundleThatHasChangedIsRefused) {
  const Fixture f;
  const std::string result = ToJson(f.Evaluate(kScaleKernel));
  f.bundle.Write("case0.x.npy", jaxkern::testing::FloatNpy({1, -4}));
  CHECK_THROWS(f.Replay(result), std::invalid_argument,
               f.bundle.path() + ": expected a bundle with hash ");
}

TEST(WhatIsNoResultIsRefusedWithItsLine) {
  const Fixture f;
  CHECK_THROWS(f.Replay("\n"), std::invalid_argument,
               "result.json: expected a result, got none");
  CHECK_THROWS(f.Replay(ToJson(Result()) + "\nnonsense\n"),
               std::invalid_argument, "result.json:2: result: expected a JSON");
  CHECK_THROWS(f.Replay("{\"id\":1,\"error\":\"x\"}"), std::invalid_argument,
               "result.json: status: expected a value, got nothing");
  CHECK_THROWS(jaxkern::ReplayFile("/no/result", {}), std::invalid_argument,
               "/no/result: expected a readable");
}

TEST(StatusStageAndRuleMustAgree) {
  Result a;
  CHECK(Differences(a, a).empty());
  Result b = a;
  b.stage = "run";
  b.rule = "x";
  b.mismatches = 7;
  CHECK((Differences(a, b) == std::vector<std::string>{"stage", "rule"}));
}

int main() { return jaxkern::testing::RunTests(); }
