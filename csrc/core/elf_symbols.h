/// The dynamic symbols of a shared library, read without loading it.
#ifndef JAXKERN_CORE_ELF_SYMBOLS_H_
#define JAXKERN_CORE_ELF_SYMBOLS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace jaxkern {

struct ElfSymbols {
  std::vector<std::string> imported;  ///< undefined: found elsewhere at load
  std::vector<std::string> exported;  ///< defined and visible to others
  std::vector<std::string> needed;    ///< libraries loaded with it
};

/// What the dynamic loader will see: section headers, which it ignores, are
/// ignored here too. Nothing for bytes that are no well-formed 64-bit library
/// of this machine's byte order. `data` may be anything at all.
std::optional<ElfSymbols> ReadElfSymbols(const char* data, size_t bytes);

}  // namespace jaxkern

#endif  // JAXKERN_CORE_ELF_SYMBOLS_H_
