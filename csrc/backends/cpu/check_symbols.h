/// The variables of a loaded library, from its symbol table.
#ifndef JAXKERN_BACKENDS_CPU_CHECK_SYMBOLS_H_
#define JAXKERN_BACKENDS_CPU_CHECK_SYMBOLS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace jaxkern {

struct Variable {
  std::string name;  ///< without scopes
  uintptr_t address;
  size_t bytes;
  bool shared;  ///< thread-local: what __shared__ was rewritten to
};

struct LibraryVariables {
  uintptr_t base = 0;  ///< what addresses in the library are relative to
  std::vector<Variable> variables;
};

/// Of the library that `inside` points into, as this OS thread sees it. Empty
/// when the library cannot be read.
LibraryVariables ReadVariables(const void* inside);

}  // namespace jaxkern

#endif  // JAXKERN_BACKENDS_CPU_CHECK_SYMBOLS_H_
