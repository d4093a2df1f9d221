/// What the cpu device cannot do.
#ifndef JAXKERN_BACKENDS_CPU_FEATURES_H_
#define JAXKERN_BACKENDS_CPU_FEATURES_H_

#include <string>

namespace jaxkern {

/// The first feature in the text that the cpu device lacks, e.g.
/// "inline PTX (asm)"; "" if there is none.
std::string UnsupportedFeature(const std::string& source);

}  // namespace jaxkern

#endif  // JAXKERN_BACKENDS_CPU_FEATURES_H_
