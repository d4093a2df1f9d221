/// How much memory workers may use, and whether a problem fits.
#ifndef JAXKERN_CORE_MEMORY_BUDGET_H_
#define JAXKERN_CORE_MEMORY_BUDGET_H_

#include <cstdint>
#include <string>

#include "core/problem.h"
#include "jaxkern/evaluator.h"

namespace jaxkern {

/// `asked` as Options::memory_bytes, or what stands in for 0; still 0 on cuda.
/// Throws std::invalid_argument for what cannot work on this machine.
int64_t WorkerMemory(const std::string& device, int64_t asked);

/// Throws std::invalid_argument if a worker with `memory_bytes` (0: no limit)
/// has no room for the problem's arrays and the results of `repetitions`.
void RequireRoom(const Problem& problem, const Options& options,
                 int repetitions, int64_t memory_bytes);

}  // namespace jaxkern

#endif  // JAXKERN_CORE_MEMORY_BUDGET_H_
