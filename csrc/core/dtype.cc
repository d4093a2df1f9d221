#include "core/dtype.h"

#include <cmath>
#include <cstring>
#include <iterator>

namespace jaxkern {
namespace {

// In the order of Dtype. NumPy has no bfloat16; bundles store it as uint16.
constexpr DtypeInfo kInfo[] = {
    {"float64", "double", "<f8", 8, true},
    {"float32", "float", "<f4", 4, true},
    {"float16", "__half", "<f2", 2, true},
    {"bfloat16", "__nv_bfloat16", "<u2", 2, true},
    {"int64", "int64_t", "<i8", 8, false},
    {"int32", "int32_t", "<i4", 4, false},
    {"int8", "int8_t", "|i1", 1, false},
    {"uint8", "uint8_t", "|u1", 1, false},
    {"bool", "bool", "|b1", 1, false},
};

}  // namespace

const DtypeInfo& Info(Dtype dtype) { return kInfo[static_cast<int>(dtype)]; }

std::optional<Dtype> ParseDtype(const std::string& name) {
  for (size_t i = 0; i < std::size(kInfo); ++i) {
    if (name == kInfo[i].name) return static_cast<Dtype>(i);
  }
  return std::nullopt;
}

float HalfToFloat(uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int fraction = bits & 1023;
  const float sign = (bits & 0x8000) != 0 ? -1.0f : 1.0f;
  if (exponent == 31) return fraction != 0 ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(float(fraction), -24);
  return sign * std::ldexp(float(1024 + fraction), exponent - 25);
}

float Bfloat16ToFloat(uint16_t bits) {
  const uint32_t wide = uint32_t{bits} << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

}  // namespace jaxkern
