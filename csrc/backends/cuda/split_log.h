/// What the compilers of a divided candidate said.
#ifndef JAXKERN_BACKENDS_CUDA_SPLIT_LOG_H_
#define JAXKERN_BACKENDS_CUDA_SPLIT_LOG_H_

#include <string>

namespace jaxkern {

/// "what: the first error in a compiler's output".
std::string Because(const std::string& what, const std::string& output);

/// The name that device code mentions and NVRTC does not know, if that is its
/// first complaint; "" if not, or if the compiler itself might know it.
std::string UndefinedName(const std::string& log);

/// Whether `word` is one of the text's words, in comments and strings, too.
bool HasWord(const std::string& text, const std::string& word);

}  // namespace jaxkern

#endif  // JAXKERN_BACKENDS_CUDA_SPLIT_LOG_H_
