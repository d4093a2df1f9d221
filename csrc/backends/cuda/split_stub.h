/// What stands for kernels and for members of the device in the host's half.
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

/// k<<<c>>>(a) becomes (Configure(c) ? (void)0 : (void)k(a)), as nvcc has it.
/// The obstacle, or "".
std::string RewriteLaunches(Tokens* tokens);

/// Takes the bodies of members that only the device has out of a class, which
/// is `tokens` as they came, in what is `written` of them: the host neither
/// understands nor calls them.
void BlankMembers(const std::multimap<std::string, Macro>& macros,
                  const Item& type, const Tokens& tokens, Tokens* written);

}  // namespace jaxkern

#endif  // JAXKERN_BACKENDS_CUDA_SPLIT_STUB_H_
