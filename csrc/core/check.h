/// The verdict on a run's results.
#ifndef JAXKERN_CORE_CHECK_H_
#define JAXKERN_CORE_CHECK_H_

#include <string>

#include "core/problem.h"
#include "core/runner.h"
#include "jaxkern/evaluator.h"

namespace jaxkern {

/// One launch's arrays against what they should be.
struct Comparisons {
  bool right = true;
  int64_t mismatches = 0;
  int64_t untouched = 0;  ///< of these: still holding the poison
  int64_t nonfinite = 0;  ///< of these: computed NaN or Inf for a finite value
  double max_abs_error = 0, max_rel_error = 0;
  std::string wrong;  ///< for the log: which arrays, how much, where
};

/// Compares a slot of a case's results with the outputs of a variant, and the
/// inputs, if they are in it, with what they were.
Comparisons CompareSlot(const Problem& problem, const Report& report,
                        size_t case_index, int slot, int variant,
                        bool inputs = true);

/// The checked launch of every case. Sets status, stage "check", log, errors
/// and mismatches of *result.
void Check(const Problem& problem, const Report& report, Result* result);

}  // namespace jaxkern

#endif  // JAXKERN_CORE_CHECK_H_
