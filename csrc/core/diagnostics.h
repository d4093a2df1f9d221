/// Messages for a reader who can fix the kernel: errors first, no paths, short.
#ifndef JAXKERN_CORE_DIAGNOSTICS_H_
#define JAXKERN_CORE_DIAGNOSTICS_H_

#include <cstddef>
#include <string>

namespace jaxkern {

/// What a log may weigh, in bytes.
inline constexpr size_t kLogBytes = 2000;

/// The errors of gcc's, clang's or nvcc's output with their source lines,
/// then, if there is room, its warnings.
std::string CompilerLog(const std::string& output);

/// Any other message: paths cut to file names, unprintable bytes replaced, and
/// its end dropped if it is too long.
std::string CleanMessage(const std::string& text, size_t limit = kLogBytes);

/// The same, but what is dropped is the beginning.
std::string CleanTail(const std::string& text, size_t limit);

}  // namespace jaxkern

#endif  // JAXKERN_CORE_DIAGNOSTICS_H_
