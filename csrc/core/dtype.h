/// Element types of arrays and attributes.
#ifndef JAXKERN_CORE_DTYPE_H_
#define JAXKERN_CORE_DTYPE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace jaxkern {

enum class Dtype {
  kFloat64,
  kFloat32,
  kFloat16,
  kBfloat16,
  kInt64,
  kInt32,
  kInt8,
  kUint8,
  kBool,
};

struct DtypeInfo {
  const char* name;  ///< NumPy's, e.g. "float32"
  const char* cxx;   ///< in a candidate's signature, e.g. "float"
  const char* npy;   ///< descr in a .npy file, e.g. "<f4"
  size_t bytes;
  bool floating;
};

const DtypeInfo& Info(Dtype dtype);

/// Nothing for a name that is none.
std::optional<Dtype> ParseDtype(const std::string& name);

float HalfToFloat(uint16_t bits);
float Bfloat16ToFloat(uint16_t bits);

}  // namespace jaxkern

#endif  // JAXKERN_CORE_DTYPE_H_
