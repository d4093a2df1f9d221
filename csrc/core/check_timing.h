/// The verdict on a run's times: of what was computed, and whether it was.
#ifndef JAXKERN_CORE_CHECK_TIMING_H_
#define JAXKERN_CORE_CHECK_TIMING_H_

#include "core/problem.h"
#include "core/runner.h"
#include "jaxkern/evaluator.h"

namespace jaxkern {

/// For a run that Check found right: compares the timed launches' outputs with
/// what their inputs demand, looks for times that cannot be, and sets times and
/// speedup, or another status, of *result.
void CheckTiming(const Problem& problem, const Report& report, Result* result);

}  // namespace jaxkern

#endif  // JAXKERN_CORE_CHECK_TIMING_H_
