/// What ties a candidate in torch's form to its problem's signature.
#ifndef JAXKERN_CORE_TORCH_ENTRY_H_
#define JAXKERN_CORE_TORCH_ENTRY_H_

#include <string>
#include <vector>

#include "core/candidate.h"
#include "core/problem.h"

namespace jaxkern {

/// C++ text to append to a candidate: the trampoline, which hands the task's
/// inputs to the function as tensors and takes its outputs from what it
/// returns. What the function's type cannot be is a compile error in words.
std::string TorchEntryText(const Problem& problem,
                           const TorchFunction& function);

/// All that a toolchain is given. Among the flags is a hash of our headers, on
/// which depends what it compiles to.
struct TorchUnitText {
  std::string source, entry;
  std::vector<std::string> flags;
};

TorchUnitText MakeTorchUnit(const Candidate& candidate, const Problem& problem);

}  // namespace jaxkern

#endif  // JAXKERN_CORE_TORCH_ENTRY_H_
