#include "core/check.h"

#include <algorithm>
#include <cstring>
#include <sstream>

#include "core/compare.h"
#include "core/diagnostics.h"

namespace jaxkern {
namespace {

/// Over all cases.
struct Findings {
  int failed = 0;
  bool nonfinite = false;
  std::string details;  // of the first failures
  std::string passed;   // labels
};

std::string Summary(const std::string& name, const Comparison& comparison) {
  std::ostringstream text;
  text << name << ": " << comparison.mismatches << " of " << comparison.elements
       << " elements wrong";
  if (comparison.untouched > 0) {
    text << ", " << comparison.untouched << " of them never written";
  }
  if (comparison.nonfinite > 0) {
    text << ", " << comparison.nonfinite << " of them NaN or Inf";
  }
  text << ", max abs error " << comparison.max_abs_error << "\n";
  return text.str();
}

/// Compares the outputs of one case; what is wrong with it, "" if nothing.
std::string CheckOutputs(const Problem& problem, const Case& c,
                         const Mapping& results, Findings* findings,
                         Result* result) {
  std::string wrong;
  for (const Array& array : c.outputs) {
    const Argument& argument =
        problem.arguments[static_cast<size_t>(array.argument)];
    const Comparison comparison = Compare(
        argument.name, argument.dtype, array.shape, results.data + array.offset,
        problem.expected.data() + array.offset, c.tolerance);
    result->mismatches += comparison.mismatches;
    result->max_abs_error =
        std::max(result->max_abs_error, comparison.max_abs_error);
    result->max_rel_error =
        std::max(result->max_rel_error, comparison.max_rel_error);
    if (comparison.mismatches == 0) continue;
    findings->nonfinite |= comparison.nonfinite > 0;
    wrong += Summary(argument.name, comparison) + comparison.first;
  }
  return wrong;
}

std::string CheckInputs(const Problem& problem, const Case& c,
                        const Mapping& results) {
  std::string wrong;
  for (const Array& array : c.inputs) {
    const char* after = results.data + problem.expected.size() + array.offset;
    if (array.bytes > 0 &&
        std::memcmp(after, problem.inputs.data + array.offset, array.bytes) !=
            0) {
      wrong += "modified its input " +
               problem.arguments[static_cast<size_t>(array.argument)].name +
               "\n";
    }
  }
  return wrong;
}

}  // namespace

void Check(const Problem& problem, const Mapping& results, Result* result) {
  Findings findings;
  for (const Case& c : problem.cases) {
    const std::string wrong =
        CheckOutputs(problem, c, results, &findings, result) +
        CheckInputs(problem, c, results);
    if (wrong.empty()) {
      findings.passed += (findings.passed.empty() ? "" : "; ") + c.label;
      continue;
    }
    ++findings.failed;
    if (findings.failed <= 3) {
      findings.details += "case " + c.label + ": " + wrong;
    }
  }
  result->stage = "check";
  if (findings.failed == 0) {
    result->status = Status::kOk;
    return;
  }
  result->status =
      findings.nonfinite ? Status::kNonfinite : Status::kWrongAnswer;
  std::string log = "wrong in " + std::to_string(findings.failed) + " of " +
                    std::to_string(problem.cases.size()) + " cases\n" +
                    findings.details;
  if (!findings.passed.empty()) {
    log += "right in cases: " + findings.passed + "\n";
  }
  result->log = CleanMessage(log);
}

}  // namespace jaxkern
