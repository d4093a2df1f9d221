/// Static rules: what no candidate may contain. They come second to what a run
/// shows, so each of them is decided on words of the code, never on comments,
/// strings or dead code, and only where honest code has no use for it.
#ifndef JAXKERN_CORE_RULES_H_
#define JAXKERN_CORE_RULES_H_

#include <optional>
#include <string>

namespace jaxkern {

class Unit;

struct Breach {
  std::string rule;      ///< what the candidate does: docs/evaluator.md
  std::string evidence;  ///< where the text says so: the line with its number
  std::string message;   ///< for a reader who can fix it: what is not allowed
};

/// The first breach in a candidate's text. Looked at in turn:
///   includes    headers by path, computed names, #include_next, #embed
///   assembler   for the host, or one that reads files
///   attributes  constructor, destructor, alias, ifunc, section, fast-math
///   pragmas     options of the compiler and renamed symbols
///   lines       forged line numbers
///   symbols     the runtime's, the clock's or the evaluator's own names
///   libraries   calls of cuBLAS, cuDNN, Thrust, CUB's device algorithms, ...
std::optional<Breach> FindBreach(const std::string& source);

/// Of the above, by file.
std::optional<Breach> FindIncludeBreach(const Unit& unit);
std::optional<Breach> FindAsmBreach(const Unit& unit);
std::optional<Breach> FindSymbolBreach(const Unit& unit);
std::optional<Breach> FindLibraryBreach(const Unit& unit);

}  // namespace jaxkern

#endif  // JAXKERN_CORE_RULES_H_
