#include <nlohmann/json.hpp>

#include "jaxkern/evaluator.h"

namespace jaxkern {

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

nlohmann::ordered_json ToJson(const Replay& replay) {
  const Request& request = replay.request;
  return {
      {"problem", request.problem},
      {"problem_hash", replay.problem_hash},
      {"source", request.source},
      {"seed", std::to_string(request.seed)},
      {"repetitions", request.repetitions},
      {"flush", request.flush},
      {"compile_timeout_s", request.compile_timeout_s},
      {"run_timeout_s", request.run_timeout_s},
      {"device", replay.device},
      {"environment", replay.environment},
  };
}

}  // namespace

std::string ToJson(const Result& result) {
  const nlohmann::ordered_json object = {
      {"status", StatusName(result.status)},
      {"stage", result.stage},
      {"log", result.log},
      {"max_abs_error", result.max_abs_error},
      {"max_rel_error", result.max_rel_error},
      {"mismatches", result.mismatches},
      {"rule", result.rule},
      {"evidence", result.evidence},
      {"launches_compared", result.launches_compared},
      {"times_us", result.times_us},
      {"baseline_us", result.baseline_us},
      {"speedup", result.speedup},
      {"speedup_low", result.speedup_low},
      {"speedup_high", result.speedup_high},
      {"device", result.device},
      {"compile_s", result.compile_s},
      {"queue_s", result.queue_s},
      {"run_s", result.run_s},
      {"cache_hit", result.cache_hit},
      {"resources",
       {{"registers", result.resources.registers},
        {"shared_bytes", result.resources.shared_bytes},
        {"spill_bytes", result.resources.spill_bytes}}},
      {"replay", ToJson(result.replay)},
  };
  // A compiler may quote a candidate's bytes that are not UTF-8.
  return object.dump(-1, ' ', false,
                     nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace jaxkern
