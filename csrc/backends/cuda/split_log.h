/// What the compilers of a divided candidate said.
#ifndef JAXKERN_BACKENDS_CUDA_SPLIT_LOG_H_
#define JAXKERN_BACKENDS_CUDA_SPLIT_LOG_H_

#include <string>
#include <vector>

namespace jaxkern {

/// "what: the first error in a compiler's output".
std::string Because(const std::string& what, const std::string& output);

/// The name that device code mentions and NVRTC does not know, if that is its
/// first complaint; "" if not, or if the compiler itself might know it.
std::string UndefinedName(const std::string& log);

/// The candidate's lines where something else was expected (a semicolon, an
/// expression), if that is all that NVRTC complains of; else none.
std::vector<int> SyntaxErrors(const std::string& log);

/// Whether two texts have the same line there, and the same before it, where
/// the last token before an error may be.
bool AgreeAt(int line, const std::string& one, const std::string& other);

/// Whether `word` is one of the text's words, in comments and strings, too.
bool HasWord(const std::string& text, const std::string& word);

}  // namespace jaxkern

#endif  // JAXKERN_BACKENDS_CUDA_SPLIT_LOG_H_
