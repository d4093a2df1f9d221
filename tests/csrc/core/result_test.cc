#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "check.h"
#include "jaxkern/evaluator.h"

using jaxkern::FromJson;
using jaxkern::Result;
using jaxkern::Status;
using jaxkern::ToJson;
using nlohmann::json;

namespace {

Result MakeResult() {
  Result result;
  result.status = Status::kWrongAnswer;
  result.stage = "check";
  result.form = "torch";
  result.log = "a \"b\"\n";
  result.max_abs_error = 0.1;
  result.max_rel_error = 1e-300;
  result.mismatches = int64_t{1} << 60;
  result.diagnosis = "kernel.cu:3: a fault";
  result.rule = "skipped_work";
  result.evidence = "launch 3";
  result.launches_compared = 5;
  result.speedup_low = 0.25;
  result.speedup_high = 0.5;
  result.replay.request.problem = "/b";
  result.replay.request.source = "\xc3\xa9\n";
  result.replay.request.seed = ~uint64_t{0};
  result.replay.request.repetitions = 20;
  result.replay.request.flush = false;
  result.replay.request.fresh_process = true;
  result.replay.request.diagnose = true;
  result.replay.request.rules = false;
  result.replay.request.run_timeout_s = 0.5;
  result.replay.problem_hash = "0123456789abcdef";
  result.replay.device = "cpu";
  result.replay.environment = "somewhere";
  result.times_us = {1.25, 1e9};
  result.preparation = "refused";
  result.first_call_us = 12.5;
  result.baseline_us = 3;
  result.speedup = 1.0 / 3;
  result.baselines["naive"] = {3, 1.0 / 3, 0.25, 0.5, ""};
  result.baselines["vendor"].note = "needs cublas";
  result.clocks = {{1980, 2619, 35, false}, {1755, 2619, 61, true}};
  result.device = "cpu: x";
  result.compile_s = 4;
  result.queue_s = 5;
  result.run_s = 6;
  result.cache_hit = true;
  result.resources = {7, 8, 9};
  return result;
}

}  // namespace

TEST(AResultSurvivesJson) {
  for (int i = 0; i <= static_cast<int>(Status::kInfraError); ++i) {
    Result result = MakeResult();
    result.status = static_cast<Status>(i);
    CHECK_EQ(ToJson(FromJson(ToJson(result))), ToJson(result));
  }
  const Result back = FromJson(ToJson(MakeResult()));
  CHECK_EQ(back.speedup, 1.0 / 3);
  CHECK_EQ(back.mismatches, int64_t{1} << 60);
  CHECK_EQ(back.resources.spill_bytes, 9);
  CHECK_EQ(back.replay.request.seed, ~uint64_t{0});
  CHECK_EQ(back.baselines.at("naive").speedup, 1.0 / 3);
  CHECK_EQ(back.baselines.at("vendor").note, "needs cublas");
  CHECK_EQ(back.clocks->after.temperature_c, 61);
  CHECK(back.clocks->after.throttled && !back.clocks->before.throttled);
}

TEST(ClocksThatWereNotReadAreAbsent) {
  const json object = json::parse(ToJson(Result()));
  CHECK(!object.contains("clocks"));
  CHECK(object["baselines"].empty() && object["baselines"].is_object());
  CHECK(!FromJson(object.dump()).clocks);
}

TEST(OtherKeysAreIgnored) {
  json object = json::parse(ToJson(MakeResult()));
  object["file"] = "x.cu";
  CHECK_EQ(FromJson(object.dump()).stage, "check");
}

TEST(AnErrorThatIsNoNumberIsNullInJson) {
  Result result;
  result.max_abs_error = std::numeric_limits<double>::infinity();
  CHECK(json::parse(ToJson(result))["max_abs_error"].is_null());
  CHECK(std::isnan(FromJson(ToJson(result)).max_abs_error));
}

TEST(OlderResultsAreRead) {
  json object = json::parse(ToJson(MakeResult()));
  object.erase("baselines");
  object.erase("clocks");
  object.erase("preparation");
  object["replay"].erase("rules");
  const Result result = FromJson(object.dump());
  CHECK(result.baselines.empty() && !result.clocks);
  CHECK_EQ(result.speedup, 1.0 / 3);
}

TEST(WhatIsNoResultIsRefusedWithTheField) {
  CHECK_THROWS(FromJson("nonsense"), std::invalid_argument,
               "result: expected a JSON object, got nonsense");
  CHECK_THROWS(FromJson("{}"), std::invalid_argument,
               "status: expected a value, got nothing");
  const std::pair<const char*, json> wrong[] = {
      {"status", "good"},
      {"stage", 1},
      {"mismatches", "x"},
      {"times_us", 1.5},
      {"speedup", true},
      {"cache_hit", 1},
      {"resources", 3},
      {"times_us", {"x"}},
      {"mismatches", 1.5},
      {"mismatches", ~uint64_t{0}},
      {"launches_compared", int64_t{1} << 31},
      {"launches_compared", -(int64_t{1} << 31) - 1},
      {"baselines", 1},
      {"clocks", 3},
  };
  for (const auto& [field, value] : wrong) {
    json object = json::parse(ToJson(MakeResult()));
    object[field] = value;
    CHECK_THROWS(FromJson(object.dump()), std::invalid_argument,
                 std::string(field) + ": expected ");
  }
  json object = json::parse(ToJson(MakeResult()));
  object["baselines"]["naive"] = 2;
  CHECK_THROWS(FromJson(object.dump()), std::invalid_argument,
               "baselines.naive: expected an object, got 2");
  object = json::parse(ToJson(MakeResult()));
  for (const std::string seed : {"12x", "18446744073709551616"}) {
    object["replay"]["seed"] = seed;
    CHECK_THROWS(FromJson(object.dump()), std::invalid_argument,
                 "seed: expected decimal digits of at most 64 bits, got \"" +
                     seed + "\"");
  }
}

int main() { return jaxkern::testing::RunTests(); }
