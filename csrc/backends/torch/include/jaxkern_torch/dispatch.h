// The dispatch macros: a function for each element type, chosen by a tensor's.
#pragma once
#include "options.h"

namespace c10 {
namespace detail {
[[noreturn]] inline void NotImplemented(const char* name, ScalarType type) {
  Raise("\"", name, "\" not implemented for '", toString(type), "'");
}
inline ScalarType scalar_type(ScalarType type) { return type; }
}  // namespace detail
namespace impl {
template <ScalarType type>
struct ScalarTypeToCPPType;
#define JAXKERN_TORCH_CPP(name, T)               \
  template <>                                    \
  struct ScalarTypeToCPPType<ScalarType::name> { \
    using type = T;                              \
  };
JAXKERN_TORCH_CPP(Byte, uint8_t)
JAXKERN_TORCH_CPP(Char, int8_t)
JAXKERN_TORCH_CPP(Short, int16_t)
JAXKERN_TORCH_CPP(Int, int32_t)
JAXKERN_TORCH_CPP(Long, int64_t)
JAXKERN_TORCH_CPP(Float, float)
JAXKERN_TORCH_CPP(Double, double)
JAXKERN_TORCH_CPP(Bool, bool)
JAXKERN_TORCH_CPP(Half, c10::Half)
JAXKERN_TORCH_CPP(BFloat16, c10::BFloat16)
#undef JAXKERN_TORCH_CPP
template <ScalarType type>
using ScalarTypeToCPPTypeT = typename ScalarTypeToCPPType<type>::type;
}  // namespace impl
}  // namespace c10

#define AT_DISPATCH_SWITCH(TYPE, NAME, ...)                            \
  [&] {                                                                \
    const ::c10::ScalarType jaxkern_type = TYPE;                       \
    constexpr const char* at_dispatch_name = NAME;                     \
    switch (jaxkern_type) {                                            \
      __VA_ARGS__                                                      \
      default:                                                         \
        ::c10::detail::NotImplemented(at_dispatch_name, jaxkern_type); \
    }                                                                  \
  }()
#define AT_DISPATCH_CASE(TYPE, ...)                                            \
  case TYPE: {                                                                 \
    using scalar_t [[maybe_unused]] = ::c10::impl::ScalarTypeToCPPTypeT<TYPE>; \
    return __VA_ARGS__();                                                      \
  }
#define AT_PRIVATE_CASE_TYPE_USING_HINT(TYPE, HINT, ...) \
  AT_DISPATCH_CASE(TYPE, __VA_ARGS__)

#define AT_DISPATCH_CASE_FLOATING_TYPES(...)               \
  AT_DISPATCH_CASE(::c10::ScalarType::Double, __VA_ARGS__) \
  AT_DISPATCH_CASE(::c10::ScalarType::Float, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND_HALF(...) \
  AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)        \
  AT_DISPATCH_CASE(::c10::ScalarType::Half, __VA_ARGS__)
#define AT_DISPATCH_CASE_INTEGRAL_TYPES(...)             \
  AT_DISPATCH_CASE(::c10::ScalarType::Byte, __VA_ARGS__) \
  AT_DISPATCH_CASE(::c10::ScalarType::Char, __VA_ARGS__) \
  AT_DISPATCH_CASE(::c10::ScalarType::Int, __VA_ARGS__)  \
  AT_DISPATCH_CASE(::c10::ScalarType::Long, __VA_ARGS__) \
  AT_DISPATCH_CASE(::c10::ScalarType::Short, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES(...)        \
  AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) \
  AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)

#define AT_DISPATCH_FLOATING_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME,                             \
                     AT_DISPATCH_CASE_FLOATING_TYPES_AND_HALF(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND(A, TYPE, NAME, ...)        \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                  \
                     AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) \
                         AT_DISPATCH_CASE(A, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND2(A, B, TYPE, NAME, ...)    \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                  \
                     AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) \
                         AT_DISPATCH_CASE(A, __VA_ARGS__)         \
                             AT_DISPATCH_CASE(B, __VA_ARGS__))
// The complex ones without complex numbers, which no task has.
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES AT_DISPATCH_FLOATING_TYPES
#define AT_DISPATCH_INTEGRAL_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND(A, TYPE, NAME, ...)        \
  AT_DISPATCH_SWITCH(TYPE, NAME,                             \
                     AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) \
                         AT_DISPATCH_CASE(A, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND2(A, B, TYPE, NAME, ...)                      \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                               \
                     AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE( \
                         A, __VA_ARGS__) AT_DISPATCH_CASE(B, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND3(A, B, C, TYPE, NAME, ...)                   \
  AT_DISPATCH_SWITCH(                                                          \
      TYPE, NAME,                                                              \
      AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__) \
          AT_DISPATCH_CASE(B, __VA_ARGS__) AT_DISPATCH_CASE(C, __VA_ARGS__))
