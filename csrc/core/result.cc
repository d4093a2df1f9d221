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
    case Status::kUnsupported:
      return "unsupported";
    case Status::kInfraError:
      return "infra_error";
  }
  return "infra_error";
}

std::string ToJson(const Result& result) {
  const nlohmann::ordered_json object = {
      {"status", StatusName(result.status)},
      {"stage", result.stage},
      {"log", result.log},
      {"diagnosis", result.diagnosis},
      {"max_abs_error", result.max_abs_error},
      {"max_rel_error", result.max_rel_error},
      {"mismatches", result.mismatches},
      {"times_us", result.times_us},
      {"baseline_us", result.baseline_us},
      {"speedup", result.speedup},
      {"device", result.device},
      {"compile_s", result.compile_s},
      {"queue_s", result.queue_s},
      {"run_s", result.run_s},
      {"cache_hit", result.cache_hit},
      {"resources",
       {{"registers", result.resources.registers},
        {"shared_bytes", result.resources.shared_bytes},
        {"spill_bytes", result.resources.spill_bytes}}},
  };
  // A compiler may quote a candidate's bytes that are not UTF-8.
  return object.dump(-1, ' ', false,
                     nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace jaxkern
