/// What a declaration declares.
#ifndef JAXKERN_BACKENDS_CPU_DECLARATORS_H_
#define JAXKERN_BACKENDS_CPU_DECLARATORS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "core/lexer.h"

namespace jaxkern {

/// The names in "float a[N][2], b;", which is tokens [begin, end] with the
/// semicolon. Variables and arrays only, no functions or pointers to them.
std::vector<std::string> DeclaredNames(const std::vector<Token>& tokens,
                                       size_t begin, size_t end);

}  // namespace jaxkern

#endif  // JAXKERN_BACKENDS_CPU_DECLARATORS_H_
