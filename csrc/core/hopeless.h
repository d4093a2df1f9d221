/// Texts that no compiler will take, told in microseconds.
#ifndef JAXKERN_CORE_HOPELESS_H_
#define JAXKERN_CORE_HOPELESS_H_

#include <optional>
#include <string>

#include "jaxkern/evaluator.h"

namespace jaxkern {

struct Hopeless {
  Status status;
  std::string stage;
  std::string log;  ///< one line for a reader who can fix it
};

/// Why a candidate's text has no chance: there is no code in it, something is
/// opened and never closed (or the other way round), or nothing in it can
/// define `launch`. `signature` is what it should define. Nothing where a
/// compiler might think otherwise: what macros and #if make of a text is left
/// to it.
std::optional<Hopeless> FindHopeless(const std::string& source,
                                     const std::string& signature);

}  // namespace jaxkern

#endif  // JAXKERN_CORE_HOPELESS_H_
