/// What a compiler's output says about how it ended.
#ifndef JAXKERN_CORE_COMPILER_END_H_
#define JAXKERN_CORE_COMPILER_END_H_

#include <string>

namespace jaxkern {

/// It, or one of its parts, had no memory left.
bool RanOutOfMemory(const std::string& output);

/// All was compiled, and did not fit together.
bool IsLinkFailure(const std::string& output);

/// What a compiler's driver says, at a line's beginning, when the system has no
/// process for its parts. In messages about a candidate its file's name comes
/// first.
bool SaysStarved(const std::string& output);

}  // namespace jaxkern

#endif  // JAXKERN_CORE_COMPILER_END_H_
