/// What ties a candidate to its problem's signature.
#ifndef JAXKERN_CORE_ENTRY_H_
#define JAXKERN_CORE_ENTRY_H_

#include <string>

#include "core/problem.h"

namespace jaxkern {

/// The name that messages about the appended declaration carry as their file.
inline constexpr char kSignatureFile[] = "signature";

/// The symbol of the trampoline, an Entry (backends/device.h).
inline constexpr char kEntrySymbol[] = "jaxkern_entry";

/// `extern "C" int launch(const float* x, ...)` as the problem wants it.
std::string Signature(const Problem& problem);

/// Statements for a trampoline: in checked builds for the cpu device, the
/// buffers are known by name.
std::string CheckedText(const Problem& problem);

/// C++ text to append to a candidate: the declaration, so that another
/// signature is a compile error that shows both, and the trampoline.
std::string EntryText(const Problem& problem);

}  // namespace jaxkern

#endif  // JAXKERN_CORE_ENTRY_H_
