/// SHA-256 (FIPS 180-4), for cache keys.
#ifndef JAXKERN_CORE_SHA256_H_
#define JAXKERN_CORE_SHA256_H_

#include <string>
#include <string_view>

namespace jaxkern {

/// 64 lower-case hexadecimal digits.
std::string Sha256(std::string_view data);

}  // namespace jaxkern

#endif  // JAXKERN_CORE_SHA256_H_
