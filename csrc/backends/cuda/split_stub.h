/// What stands for a kernel in the host's half.
#ifndef JAXKERN_BACKENDS_CUDA_SPLIT_STUB_H_
#define JAXKERN_BACKENDS_CUDA_SPLIT_STUB_H_

#include <string>

#include "backends/cuda/split_items.h"

namespace jaxkern {

struct Stub {
  std::string obstacle;  ///< "" if there is none
  std::string body;      ///< with its braces, on one line
};

/// The body of a function with a kernel's head that launches the kernel with
/// its arguments, and by which the kernel's symbol is known.
Stub MakeStub(const Tokens& tokens, const Item& kernel);

}  // namespace jaxkern

#endif  // JAXKERN_BACKENDS_CUDA_SPLIT_STUB_H_
