// What nvcc's device code has from the host's headers without including any,
// for NVRTC. Only what means the same there; of the rest NVRTC says that it is
// undefined, and then nvcc decides.
#ifndef JAXKERN_DEVICE_H_
#define JAXKERN_DEVICE_H_

#include "stdint.h"

#define INFINITY ((float)(1e308 * 10))
#define HUGE_VALF INFINITY
#define HUGE_VAL ((double)(1e308 * 10))
#define NAN (__int_as_float(0x7fc00000))
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440

namespace std {

using ::acos;
using ::acosh;
using ::asin;
using ::asinh;
using ::atan;
using ::atan2;
using ::atanh;
using ::cbrt;
using ::ceil;
using ::copysign;
using ::cos;
using ::cosh;
using ::erf;
using ::erfc;
using ::exp;
using ::exp2;
using ::expm1;
using ::fabs;
using ::floor;
using ::fma;
using ::fmax;
using ::fmin;
using ::fmod;
using ::log;
using ::log10;
using ::log1p;
using ::log2;
using ::rint;
using ::round;
using ::sin;
using ::sinh;
using ::size_t;
using ::sqrt;
using ::tan;
using ::tanh;
using ::trunc;

using ::int16_t;
using ::int32_t;
using ::int64_t;
using ::int8_t;
using ::uint16_t;
using ::uint32_t;
using ::uint64_t;
using ::uint8_t;

template <typename T>
__host__ __device__ constexpr const T& max(const T& a, const T& b) {
  return a < b ? b : a;
}
template <typename T>
__host__ __device__ constexpr const T& min(const T& a, const T& b) {
  return b < a ? b : a;
}

}  // namespace std

#endif  // JAXKERN_DEVICE_H_
