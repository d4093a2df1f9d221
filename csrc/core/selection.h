/// What of a problem a diagnosis runs.
#ifndef JAXKERN_CORE_SELECTION_H_
#define JAXKERN_CORE_SELECTION_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/problem.h"

namespace jaxkern {

/// Indices of the cases, smallest first.
std::vector<size_t> BySize(const Problem& problem);

/// A case with that variant alone which the candidate was checked with.
Case AsChecked(const Problem& problem, size_t index, uint64_t seed);

}  // namespace jaxkern

#endif  // JAXKERN_CORE_SELECTION_H_
