#include "core/check.h"

#include <algorithm>
#include <cstring>
#include <sstream>

#include "core/compare.h"
#include "core/diagnostics.h"
#include "core/schedule.h"

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

void Add(const std::string& name, const Comparison& comparison,
         Comparisons* to) {
  to->mismatches += comparison.mismatches;
  to->untouched += comparison.untouched;
  to->nonfinite += comparison.nonfinite;
  to->max_abs_error = std::max(to->max_abs_error, comparison.max_abs_error);
  to->max_rel_error = std::max(to->max_rel_error, comparison.max_rel_error);
  if (comparison.mismatches == 0) return;
  to->right = false;
  to->wrong += Summary(name, comparison) + comparison.first;
}

void Add(const Comparisons& comparisons, const std::string& label,
         Findings* findings, Result* result) {
  ++result->launches_compared;
  result->mismatches += comparisons.mismatches;
  result->max_abs_error =
      std::max(result->max_abs_error, comparisons.max_abs_error);
  result->max_rel_error =
      std::max(result->max_rel_error, comparisons.max_rel_error);
  findings->nonfinite |= comparisons.nonfinite > 0;
  if (comparisons.right) {
    findings->passed += (findings->passed.empty() ? "" : "; ") + label;
  } else if (++findings->failed <= 3) {
    findings->details += "case " + label + ": " + comparisons.wrong;
  }
}

}  // namespace

Comparisons CompareSlot(const Problem& problem, const Report& report,
                        size_t case_index, int slot, int variant, bool inputs) {
  const Case& c = problem.cases[case_index];
  const JobCase& layout = report.job.cases[case_index];
  const char* arrays = report.results.data + layout.slots_at +
                       static_cast<size_t>(slot) * layout.slot_bytes;
  Comparisons comparisons;
  for (const Array& array : c.variant(variant).outputs) {
    const size_t i = static_cast<size_t>(array.argument);
    const Argument& argument = problem.arguments[i];
    Add(argument.name,
        Compare(argument.name, argument.dtype, array.shape,
                arrays + layout.values[i].offset,
                problem.expected.data + array.offset, c.tolerance),
        &comparisons);
  }
  for (const Array& array : c.variant(variant).inputs) {
    const size_t i = static_cast<size_t>(array.argument);
    if (!inputs || array.bytes == 0 ||
        std::memcmp(arrays + layout.values[i].offset,
                    problem.inputs.data + array.offset, array.bytes) == 0) {
      continue;
    }
    comparisons.right = false;
    comparisons.wrong +=
        "modified its input " + problem.arguments[i].name + "\n";
  }
  return comparisons;
}

void Check(const Problem& problem, const Report& report, Result* result) {
  Findings findings;
  for (size_t i = 0; i < problem.cases.size(); ++i) {
    const Case& c = problem.cases[i];
    Schedule schedule(report.job.seed, static_cast<int>(i), c.variants());
    Add(CompareSlot(problem, report, i, 0, schedule.Variant(0)), c.label,
        &findings, result);
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
