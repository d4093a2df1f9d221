/// SHA-256 (FIPS 180-4), for cache keys.
#ifndef JAXKERN_CORE_SHA256_H_
#define JAXKERN_CORE_SHA256_H_

#include <string>
#include <string_view>

namespace jaxkern {

/// 64 lower-case hexadecimal digits.
std::string Sha256(std::string_view data);

/// One hash of all files below a directory, with their names.
std::string HashOfFiles(const std::string& directory);

}  // namespace jaxkern

#endif  // JAXKERN_CORE_SHA256_H_
