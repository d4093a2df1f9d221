// Element types: torch's numbers and names for them.
#pragma once
#include "errors.h"
#ifdef JAXKERN_TORCH_HALF
#include "half.h"
#endif

namespace c10 {

enum class ScalarType : signed char {
  Byte = 0,
  Char = 1,
  Short = 2,
  Int = 3,
  Long = 4,
  Half = 5,
  Float = 6,
  Double = 7,
  Bool = 11,
  BFloat16 = 15,
  Undefined = 23,
};

#ifndef JAXKERN_TORCH_HALF
struct Half;
struct BFloat16;
#endif

#define JAXKERN_TORCH_NAME(constant, type) \
  constexpr ScalarType constant = ScalarType::type;
JAXKERN_TORCH_NAME(kByte, Byte)
JAXKERN_TORCH_NAME(kChar, Char)
JAXKERN_TORCH_NAME(kShort, Short)
JAXKERN_TORCH_NAME(kInt, Int)
JAXKERN_TORCH_NAME(kLong, Long)
JAXKERN_TORCH_NAME(kHalf, Half)
JAXKERN_TORCH_NAME(kFloat, Float)
JAXKERN_TORCH_NAME(kDouble, Double)
JAXKERN_TORCH_NAME(kBool, Bool)
JAXKERN_TORCH_NAME(kUInt8, Byte)
JAXKERN_TORCH_NAME(kInt8, Char)
JAXKERN_TORCH_NAME(kInt16, Short)
JAXKERN_TORCH_NAME(kInt32, Int)
JAXKERN_TORCH_NAME(kInt64, Long)
JAXKERN_TORCH_NAME(kFloat16, Half)
JAXKERN_TORCH_NAME(kFloat32, Float)
JAXKERN_TORCH_NAME(kFloat64, Double)
JAXKERN_TORCH_NAME(kBFloat16, BFloat16)
#undef JAXKERN_TORCH_NAME

#ifndef __CUDACC_RTC__
inline const char* toString(ScalarType type) {
  switch (type) {
    case ScalarType::Byte:
      return "Byte";
    case ScalarType::Char:
      return "Char";
    case ScalarType::Short:
      return "Short";
    case ScalarType::Int:
      return "Int";
    case ScalarType::Long:
      return "Long";
    case ScalarType::Half:
      return "Half";
    case ScalarType::Float:
      return "Float";
    case ScalarType::Double:
      return "Double";
    case ScalarType::Bool:
      return "Bool";
    case ScalarType::BFloat16:
      return "BFloat16";
    case ScalarType::Undefined:
      break;
  }
  return "Undefined";
}

inline size_t elementSize(ScalarType type) {
  switch (type) {
    case ScalarType::Byte:
    case ScalarType::Char:
    case ScalarType::Bool:
      return 1;
    case ScalarType::Short:
    case ScalarType::Half:
    case ScalarType::BFloat16:
      return 2;
    case ScalarType::Int:
    case ScalarType::Float:
      return 4;
    case ScalarType::Long:
    case ScalarType::Double:
      return 8;
    case ScalarType::Undefined:
      break;
  }
  return 0;
}

inline bool isFloatingType(ScalarType type) {
  return type == kFloat || type == kDouble || type == kHalf ||
         type == kBFloat16;
}
inline bool isIntegralType(ScalarType type, bool with_bool = false) {
  return type == kByte || type == kChar || type == kShort || type == kInt ||
         type == kLong || (with_bool && type == kBool);
}
namespace detail {
inline Message& operator<<(Message& message, ScalarType type) {
  return message << toString(type);
}
}  // namespace detail
#endif  // __CUDACC_RTC__

namespace detail {

/// Of a C++ type; other types have no tensors.
template <class T>
struct TypeOf;
#define JAXKERN_TORCH_TYPE(T, type)                       \
  template <>                                             \
  struct TypeOf<T> {                                      \
    static constexpr ScalarType value = ScalarType::type; \
  };
JAXKERN_TORCH_TYPE(uint8_t, Byte)
JAXKERN_TORCH_TYPE(int8_t, Char)
JAXKERN_TORCH_TYPE(int16_t, Short)
JAXKERN_TORCH_TYPE(int32_t, Int)
JAXKERN_TORCH_TYPE(long, Long)
JAXKERN_TORCH_TYPE(long long, Long)
JAXKERN_TORCH_TYPE(float, Float)
JAXKERN_TORCH_TYPE(double, Double)
JAXKERN_TORCH_TYPE(bool, Bool)
JAXKERN_TORCH_TYPE(c10::Half, Half)
JAXKERN_TORCH_TYPE(c10::BFloat16, BFloat16)
#ifdef JAXKERN_TORCH_HALF
JAXKERN_TORCH_TYPE(__half, Half)
JAXKERN_TORCH_TYPE(__nv_bfloat16, BFloat16)
#endif
#undef JAXKERN_TORCH_TYPE
template <class T>
struct TypeOf<const T> : TypeOf<T> {};

}  // namespace detail

template <class T>
struct CppTypeToScalarType : detail::TypeOf<T> {};

/// What sums of a type are kept in.
template <class T, bool cuda = true>
struct AccumulateType {
  using type = T;
};
template <bool cuda>
struct AccumulateType<Half, cuda> {
  using type = float;
};
template <bool cuda>
struct AccumulateType<BFloat16, cuda> {
  using type = float;
};
template <class T, bool cuda = true>
using acc_type = typename AccumulateType<T, cuda>::type;
template <class T>
using opmath_type = acc_type<T>;

#ifndef __CUDACC_RTC__
/// What `dtype()` gives: compares with, and converts to, a ScalarType.
class TypeMeta {
 public:
  constexpr TypeMeta(ScalarType type) : type_(type) {}
  constexpr operator ScalarType() const { return type_; }
  ScalarType toScalarType() const { return type_; }
  size_t itemsize() const { return elementSize(type_); }
  const char* name() const { return toString(type_); }

 private:
  ScalarType type_;
};
namespace detail {
inline Message& operator<<(Message& message, TypeMeta type) {
  return message << type.name();
}
}  // namespace detail

template <class T>
constexpr bool operator==(TypeMeta a, T b) {
  return static_cast<ScalarType>(a) == static_cast<ScalarType>(b);
}
template <class T>
constexpr bool operator!=(TypeMeta a, T b) {
  return !(a == b);
}
#endif  // __CUDACC_RTC__

}  // namespace c10
