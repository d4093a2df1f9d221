/// What a candidate's library asks of the system, against the rules.
#ifndef JAXKERN_CORE_INSPECT_H_
#define JAXKERN_CORE_INSPECT_H_

#include <optional>
#include <string>

namespace jaxkern {

/// A rule that was broken, and what shows it.
struct Offence {
  std::string rule;      ///< one word, see docs/evaluator.md
  std::string evidence;  ///< "imports dlopen"
};

/// The first rule that the library in `fd` breaks; nothing if it keeps them
/// all. What counts is what the linker left, not how the source spells it.
/// Nothing, too, if the evaluator's $JAXKERN_WITHOUT contains "inspection": to
/// see what the other walls hold.
std::optional<Offence> Inspect(int fd);

}  // namespace jaxkern

#endif  // JAXKERN_CORE_INSPECT_H_
