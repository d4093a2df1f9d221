#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <type_traits>

#include "jaxkern/evaluator.h"

namespace jaxkern {
namespace {

using nlohmann::json;

[[noreturn]] void Fail(const std::string& field, const std::string& expected,
                       const std::string& got) {
  throw std::invalid_argument(field + ": expected " + expected + ", got " +
                              got);
}

std::string Show(const json& value) {
  return value.is_structured()
             ? value.type_name()
             : value.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// Whether a number that was parsed is one of T's; nlohmann would cut it off.
template <typename T>
bool Fits(const json& number) {
  using Limits = std::numeric_limits<T>;
  if (number.is_number_unsigned()) {  // all that are not negative
    return number.get<uint64_t>() <= static_cast<uint64_t>(Limits::max());
  }
  return number.is_number_integer() && number.get<int64_t>() >= Limits::min();
}

/// Sets *value to a field's, which must be of its type.
template <typename T>
void Read(const json& object, const char* field, T* value) {
  constexpr bool kNumber = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;
  const auto found = object.find(field);
  if (found == object.end()) Fail(field, "a value", "nothing");
  if constexpr (std::is_same_v<T, double>) {
    if (found->is_null()) {  // what JSON makes of NaN and infinities
      *value = std::numeric_limits<double>::quiet_NaN();
      return;
    }
  }
  try {
    // nlohmann takes true for 1.
    if (kNumber && !found->is_number()) Fail(field, "a number", Show(*found));
    if constexpr (kNumber && std::is_integral_v<T>) {
      if (!Fits<T>(*found)) Fail(field, "an integer", Show(*found));
    }
    found->get_to(*value);
  } catch (const json::exception&) {
    Fail(field, "another type", Show(*found));
  }
}

}  // namespace

const char* StatusName(Status status) {
  switch (status) {
    case Status::kOk:
      return "ok";
    case Status::kExtractError:
      return "extract_error";
    case Status::kCompileError:
      return "compile_error";
    case Status::kLinkError:
      return "link_error";
    case Status::kLaunchError:
      return "launch_error";
    case Status::kRuntimeError:
      return "runtime_error";
    case Status::kTimeout:
      return "timeout";
    case Status::kOutOfMemory:
      return "out_of_memory";
    case Status::kWrongAnswer:
      return "wrong_answer";
    case Status::kNonfinite:
      return "nonfinite";
    case Status::kCheating:
      return "cheating";
    case Status::kUnsupported:
      return "unsupported";
    case Status::kInfraError:
      return "infra_error";
  }
  return "infra_error";
}

namespace {

/// The inverse of StatusName.
Status ParseStatus(const std::string& name) {
  for (int i = 0; i <= static_cast<int>(Status::kInfraError); ++i) {
    const auto status = static_cast<Status>(i);
    if (name == StatusName(status)) return status;
  }
  Fail("status", "a status of jaxkern", '"' + name + '"');
}

nlohmann::ordered_json ToJson(const Replay& replay) {
  const Request& request = replay.request;
  return {
      {"problem", request.problem},
      {"problem_hash", replay.problem_hash},
      {"source", request.source},
      {"seed", std::to_string(request.seed)},
      {"repetitions", request.repetitions},
      {"flush", request.flush},
      {"fresh_process", request.fresh_process},
      {"diagnose", request.diagnose},
      {"rules", request.rules},
      {"compile_timeout_s", request.compile_timeout_s},
      {"run_timeout_s", request.run_timeout_s},
      {"device", replay.device},
      {"environment", replay.environment},
  };
}

Replay ReadReplay(const json& object) {
  Replay replay;
  Request& request = replay.request;
  std::string seed;
  Read(object, "problem", &request.problem);
  Read(object, "problem_hash", &replay.problem_hash);
  Read(object, "source", &request.source);
  Read(object, "seed", &seed);
  const char* end = seed.data() + seed.size();
  const auto [stopped, error] = std::from_chars(seed.data(), end, request.seed);
  if (stopped != end || error != std::errc()) {
    Fail("seed", "decimal digits of at most 64 bits", '"' + seed + '"');
  }
  Read(object, "repetitions", &request.repetitions);
  Read(object, "flush", &request.flush);
  Read(object, "fresh_process", &request.fresh_process);
  Read(object, "diagnose", &request.diagnose);
  if (object.contains("rules")) Read(object, "rules", &request.rules);
  Read(object, "compile_timeout_s", &request.compile_timeout_s);
  Read(object, "run_timeout_s", &request.run_timeout_s);
  Read(object, "device", &replay.device);
  Read(object, "environment", &replay.environment);
  return replay;
}

Resources ReadResources(const json& object) {
  Resources resources;
  Read(object, "registers", &resources.registers);
  Read(object, "shared_bytes", &resources.shared_bytes);
  Read(object, "spill_bytes", &resources.spill_bytes);
  return resources;
}

nlohmann::ordered_json ToJson(
    const std::map<std::string, BaselineTimes>& baselines) {
  auto object = nlohmann::ordered_json::object();
  for (const auto& [name, times] : baselines) {
    object[name] = {{"us", times.us},
                    {"speedup", times.speedup},
                    {"speedup_low", times.speedup_low},
                    {"speedup_high", times.speedup_high},
                    {"note", times.note}};
  }
  return object;
}

BaselineTimes ReadBaseline(const json& object) {
  BaselineTimes times;
  Read(object, "us", &times.us);
  Read(object, "speedup", &times.speedup);
  Read(object, "speedup_low", &times.speedup_low);
  Read(object, "speedup_high", &times.speedup_high);
  Read(object, "note", &times.note);
  return times;
}

nlohmann::ordered_json ToJson(const ClockReading& reading) {
  return {{"sm_mhz", reading.sm_mhz},
          {"memory_mhz", reading.memory_mhz},
          {"temperature_c", reading.temperature_c},
          {"throttled", reading.throttled}};
}

ClockReading ReadClocks(const json& object) {
  ClockReading reading;
  Read(object, "sm_mhz", &reading.sm_mhz);
  Read(object, "memory_mhz", &reading.memory_mhz);
  Read(object, "temperature_c", &reading.temperature_c);
  Read(object, "throttled", &reading.throttled);
  return reading;
}

const json& Object(const json& object, const char* field) {
  const auto found = object.find(field);
  if (found == object.end()) Fail(field, "an object", "nothing");
  if (!found->is_object()) Fail(field, "an object", Show(*found));
  return *found;
}

}  // namespace

std::string ToJson(const Result& result) {
  nlohmann::ordered_json object = {
      {"status", StatusName(result.status)},
      {"stage", result.stage},
      {"form", result.form},
      {"log", result.log},
      {"rule", result.rule},
      {"evidence", result.evidence},
      {"diagnosis", result.diagnosis},
      {"max_abs_error", result.max_abs_error},
      {"max_rel_error", result.max_rel_error},
      {"mismatches", result.mismatches},
      {"launches_compared", result.launches_compared},
      {"times_us", result.times_us},
      {"preparation", result.preparation},
      {"first_call_us", result.first_call_us},
      {"baseline_us", result.baseline_us},
      {"speedup", result.speedup},
      {"speedup_low", result.speedup_low},
      {"speedup_high", result.speedup_high},
      {"baselines", ToJson(result.baselines)},
      {"device", result.device},
      {"compile_s", result.compile_s},
      {"queue_s", result.queue_s},
      {"run_s", result.run_s},
      {"cache_hit", result.cache_hit},
      {"cache_miss", result.cache_miss},
      {"road", result.road},
      {"road_reason", result.road_reason},
      {"resources",
       {{"registers", result.resources.registers},
        {"shared_bytes", result.resources.shared_bytes},
        {"spill_bytes", result.resources.spill_bytes}}},
      {"replay", ToJson(result.replay)},
  };
  if (result.clocks) {
    object["clocks"] = {{"before", ToJson(result.clocks->before)},
                        {"after", ToJson(result.clocks->after)}};
  }
  // A compiler may quote a candidate's bytes that are not UTF-8.
  return object.dump(-1, ' ', false,
                     nlohmann::ordered_json::error_handler_t::replace);
}

Result FromJson(const std::string& text) {
  const json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) Fail("result", "a JSON object", text.substr(0, 80));
  Result result;
  std::string status;
  Read(object, "status", &status);
  result.status = ParseStatus(status);
  Read(object, "stage", &result.stage);
  // Results of before there were two forms have none.
  if (object.contains("form")) Read(object, "form", &result.form);
  Read(object, "log", &result.log);
  Read(object, "max_abs_error", &result.max_abs_error);
  Read(object, "max_rel_error", &result.max_rel_error);
  Read(object, "mismatches", &result.mismatches);
  Read(object, "diagnosis", &result.diagnosis);
  Read(object, "rule", &result.rule);
  Read(object, "evidence", &result.evidence);
  Read(object, "launches_compared", &result.launches_compared);
  Read(object, "times_us", &result.times_us);
  if (object.contains("preparation")) {  // absent in results of before
    Read(object, "preparation", &result.preparation);
    Read(object, "first_call_us", &result.first_call_us);
  }
  Read(object, "baseline_us", &result.baseline_us);
  Read(object, "speedup", &result.speedup);
  Read(object, "speedup_low", &result.speedup_low);
  Read(object, "speedup_high", &result.speedup_high);
  // Older results have neither.
  if (object.contains("baselines")) {
    for (const auto& [name, times] : Object(object, "baselines").items()) {
      if (!times.is_object()) {
        Fail("baselines." + name, "an object", Show(times));
      }
      result.baselines[name] = ReadBaseline(times);
    }
  }
  if (object.contains("clocks")) {
    const json& clocks = Object(object, "clocks");
    result.clocks = {ReadClocks(Object(clocks, "before")),
                     ReadClocks(Object(clocks, "after"))};
  }
  Read(object, "device", &result.device);
  Read(object, "compile_s", &result.compile_s);
  Read(object, "queue_s", &result.queue_s);
  Read(object, "run_s", &result.run_s);
  Read(object, "cache_hit", &result.cache_hit);
  if (object.contains("cache_miss")) {  // absent in results of before
    Read(object, "cache_miss", &result.cache_miss);
  }
  if (object.contains("road")) {  // not in older results
    Read(object, "road", &result.road);
    Read(object, "road_reason", &result.road_reason);
  }
  result.resources = ReadResources(Object(object, "resources"));
  result.replay = ReadReplay(Object(object, "replay"));
  return result;
}

}  // namespace jaxkern
