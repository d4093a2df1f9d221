/// The verdict on a run's results.
#ifndef JAXKERN_CORE_CHECK_H_
#define JAXKERN_CORE_CHECK_H_

#include "core/memory_file.h"
#include "core/problem.h"
#include "jaxkern/evaluator.h"

namespace jaxkern {

/// Compares `results` (laid out as Job says) with what `problem` expects, and
/// the inputs with what they were. Sets status, stage "check", log, errors and
/// mismatches of *result.
void Check(const Problem& problem, const Mapping& results, Result* result);

}  // namespace jaxkern

#endif  // JAXKERN_CORE_CHECK_H_
