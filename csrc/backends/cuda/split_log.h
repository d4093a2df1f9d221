/// What the compilers of a divided candidate said.
#ifndef JAXKERN_BACKENDS_CUDA_SPLIT_LOG_H_
#define JAXKERN_BACKENDS_CUDA_SPLIT_LOG_H_

#include <string>

namespace jaxkern {

/// "what: the first error in a compiler's output".
std::string Because(const std::string& what, const std::string& output);

}  // namespace jaxkern

#endif  // JAXKERN_BACKENDS_CUDA_SPLIT_LOG_H_
