/// One text for all that mean the same to a compiler.
#ifndef JAXKERN_CORE_NORMALISE_H_
#define JAXKERN_CORE_NORMALISE_H_

#include <optional>
#include <string>

namespace jaxkern {

/// CUDA C++ text without comments, with white space where it can matter only,
/// lines kept apart in preprocessor directives only. Literals and words stay as
/// they are. Texts with equal forms that a compiler accepts build the same
/// thing; what it says of one that it refuses differs, by its line numbers, so
/// that the form says nothing about those. Nothing if the text asks for its own
/// lines (__LINE__, assert) or compilers may disagree on where its comments
/// end.
std::optional<std::string> Normalise(const std::string& text);

}  // namespace jaxkern

#endif  // JAXKERN_CORE_NORMALISE_H_
