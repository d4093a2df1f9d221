// Submissions with a function to call, and what is abandoned.
#include <atomic>
#include <chrono>
#include <future>
#include <memory>

#include "bundle.h"
#include "check.h"
#include "jaxkern/evaluator.h"

using jaxkern::Evaluator;
using jaxkern::Options;
using jaxkern::Request;
using jaxkern::Result;
using jaxkern::Status;
using jaxkern::testing::EndlessSource;
using jaxkern::testing::kScaleKernel;
using jaxkern::testing::TemporaryDirectory;
using jaxkern::testing::WriteScaleBundle;

namespace {

/// An evaluator with one compiler, so that submissions queue up.
struct Fixture {
  Fixture() {
    WriteScaleBundle(bundle);
    Options options;
    options.cache_dir = cache.path();
    options.compile_workers = 1;
    evaluator = std::make_unique<Evaluator>(options);
  }

  Request MakeRequest(const std::string& source) const {
    Request request;
    request.problem = bundle.path();
    request.source = source;
    return request;
  }

  /// Keeps the compiler busy for half a second.
  Request Blocker() const {
    Request request = MakeRequest(EndlessSource(bundle));
    request.compile_timeout_s = 0.5;
    return request;
  }

  TemporaryDirectory bundle, cache;
  std::unique_ptr<Evaluator> evaluator;
};

}  // namespace

TEST(AFunctionGetsItsResultAndNextDoesNot) {
  std::promise<Result> given;  // outlives the thread that sets it
  Fixture f;
  f.evaluator->Submit(
      f.MakeRequest(kScaleKernel),
      [&given](const Result& result) { given.set_value(result); });
  CHECK_EQ(f.evaluator->Pending(), 0U);
  CHECK(given.get_future().get().status == Status::kOk);
  CHECK(!f.evaluator->Next(0));
}

TEST(WhatIsAbandonedIsNotDelivered) {
  Fixture f;
  f.evaluator->Submit(f.Blocker());
  std::atomic<int> calls{0};
  const auto count = [&calls](const Result&) { ++calls; };
  // Not what is refused without a compiler: that may be over before it is
  // abandoned.
  const uint64_t with_function =
      f.evaluator->Submit(f.MakeRequest(kScaleKernel), count);
  const uint64_t for_next = f.evaluator->Submit(f.MakeRequest(kScaleKernel));
  CHECK_EQ(f.evaluator->Pending(), 2U);
  f.evaluator->Abandon(with_function);
  f.evaluator->Abandon(for_next);
  f.evaluator->Abandon(for_next);
  f.evaluator->Abandon(0);
  CHECK_EQ(f.evaluator->Pending(), 1U);
  CHECK(f.evaluator->Next(30)->second.status == Status::kTimeout);
  CHECK(!f.evaluator->Next(30));
  f.evaluator->Evaluate({f.MakeRequest("int c;")});
  CHECK_EQ(calls.load(), 0);
}

TEST(AFinishedResultCanBeAbandoned) {
  Fixture f;
  const uint64_t ticket = f.evaluator->Submit(f.MakeRequest(" "));
  f.evaluator->Evaluate({f.MakeRequest(" "), f.MakeRequest("int c;")});
  f.evaluator->Abandon(ticket);
  CHECK_EQ(f.evaluator->Pending(), 0U);
  CHECK(!f.evaluator->Next(30));
}

TEST(AnEqualRequestAfterAnAbandonedOneIsServed) {
  Fixture f;
  f.evaluator->Submit(f.Blocker());
  for (int i = 0; i < 3; ++i) {
    f.evaluator->Abandon(f.evaluator->Submit(f.MakeRequest(kScaleKernel)));
  }
  const Result result = f.evaluator->Evaluate({f.MakeRequest(kScaleKernel)})[0];
  CHECK(result.status == Status::kOk);
  CHECK_EQ(result.stage, "check");
}

TEST(WhatAFunctionHoldsIsFreedWithTheEvaluator) {
  auto held = std::make_shared<int>(0);
  {
    Fixture f;
    f.evaluator->Submit(f.Blocker());
    f.evaluator->Submit(f.MakeRequest(kScaleKernel), [held](const Result&) {});
    CHECK_EQ(held.use_count(), 2);
  }
  CHECK_EQ(held.use_count(), 1);
}

TEST(ASubmissionNeedsAFunction) {
  Fixture f;
  CHECK_THROWS(f.evaluator->Submit(f.MakeRequest(" "), nullptr),
               std::invalid_argument, "done: expected a function, got none");
}

int main() { return jaxkern::testing::RunTests(); }
