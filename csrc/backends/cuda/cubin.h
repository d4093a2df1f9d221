/// Reading what the two compilers of a divided candidate left, and putting a
/// cubin where the runtime looks for it.
#ifndef JAXKERN_BACKENDS_CUDA_CUBIN_H_
#define JAXKERN_BACKENDS_CUDA_CUBIN_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace jaxkern {

/// The names of all symbols that a 64-bit object file or cubin defines;
/// nothing if it is not well formed.
std::optional<std::set<std::string>> DefinedSymbols(const std::string& object);

/// The strings in an object's sections of that name; none if it has none.
std::vector<std::string> SectionStrings(const std::string& object,
                                        const std::string& section);

/// Overwrites the beginning of that section of `object`; false if there is none
/// or it has no room for `contents`.
bool PutInSection(const std::string& section, const std::string& contents,
                  std::string* object);

/// A fat binary with the cubin alone, as `fatbinary --create` makes it for
/// `architecture`, e.g. "90a".
std::string FatBinary(const std::string& cubin,
                      const std::string& architecture);

/// "ns::k<float, 4>" for the symbol of that kernel; "" if it is none.
std::string NameExpression(const std::string& symbol);

}  // namespace jaxkern

#endif  // JAXKERN_BACKENDS_CUDA_CUBIN_H_
