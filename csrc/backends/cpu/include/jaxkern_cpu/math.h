// Mathematics under CUDA's names. The C functions are declared here exactly as
// the C library declares them; overloads for float are templates, so that they
// can stand beside the C++ library's own when a candidate includes it.
#pragma once

#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define HUGE_VAL __builtin_huge_val()
#define HUGE_VALF __builtin_huge_valf()
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

extern "C" {
double nan(const char*) noexcept(true);
float nanf(const char*) noexcept(true);
#define JAXKERN_UNARY(name)           \
  double name(double) noexcept(true); \
  float name##f(float) noexcept(true);
#define JAXKERN_BINARY(name)                  \
  double name(double, double) noexcept(true); \
  float name##f(float, float) noexcept(true);
JAXKERN_UNARY(acos)
JAXKERN_UNARY(acosh)
JAXKERN_UNARY(asin)
JAXKERN_UNARY(asinh)
JAXKERN_UNARY(atan)
JAXKERN_UNARY(atanh)
JAXKERN_UNARY(cbrt)
JAXKERN_UNARY(ceil)
JAXKERN_UNARY(cos)
JAXKERN_UNARY(cosh)
JAXKERN_UNARY(erf)
JAXKERN_UNARY(erfc)
JAXKERN_UNARY(exp)
JAXKERN_UNARY(exp2)
JAXKERN_UNARY(expm1)
JAXKERN_UNARY(fabs)
JAXKERN_UNARY(floor)
JAXKERN_UNARY(lgamma)
JAXKERN_UNARY(log)
JAXKERN_UNARY(log10)
JAXKERN_UNARY(log1p)
JAXKERN_UNARY(log2)
JAXKERN_UNARY(logb)
JAXKERN_UNARY(nearbyint)
JAXKERN_UNARY(rint)
JAXKERN_UNARY(round)
JAXKERN_UNARY(sin)
JAXKERN_UNARY(sinh)
JAXKERN_UNARY(sqrt)
JAXKERN_UNARY(tan)
JAXKERN_UNARY(tanh)
JAXKERN_UNARY(tgamma)
JAXKERN_UNARY(trunc)
JAXKERN_BINARY(atan2)
JAXKERN_BINARY(copysign)
JAXKERN_BINARY(fdim)
JAXKERN_BINARY(fmax)
JAXKERN_BINARY(fmin)
JAXKERN_BINARY(fmod)
JAXKERN_BINARY(hypot)
JAXKERN_BINARY(nextafter)
JAXKERN_BINARY(pow)
JAXKERN_BINARY(remainder)
#undef JAXKERN_UNARY
#undef JAXKERN_BINARY
double fma(double, double, double) noexcept(true);
float fmaf(float, float, float) noexcept(true);
double ldexp(double, int) noexcept(true);
float ldexpf(float, int) noexcept(true);
double frexp(double, int*) noexcept(true);
float frexpf(float, int*) noexcept(true);
double modf(double, double*) noexcept(true);
float modff(float, float*) noexcept(true);
double scalbn(double, int) noexcept(true);
float scalbnf(float, int) noexcept(true);
int ilogb(double) noexcept(true);
int ilogbf(float) noexcept(true);
long lrint(double) noexcept(true);
long lrintf(float) noexcept(true);
long lround(double) noexcept(true);
long lroundf(float) noexcept(true);
long long llrint(double) noexcept(true);
long long llrintf(float) noexcept(true);
long long llround(double) noexcept(true);
long long llroundf(float) noexcept(true);
void sincos(double, double*, double*) noexcept(true);
void sincosf(float, float*, float*) noexcept(true);
int abs(int) noexcept(true) __attribute__((const));
long labs(long) noexcept(true) __attribute__((const));
long long llabs(long long) noexcept(true) __attribute__((const));
}

#define JAXKERN_UNARY(name)                      \
  template <class T>                             \
  inline jaxkern_cpu::Only<T, float> name(T x) { \
    return name##f(x);                           \
  }
#define JAXKERN_BINARY(name)                          \
  template <class T>                                  \
  inline jaxkern_cpu::Only<T, float> name(T x, T y) { \
    return name##f(x, y);                             \
  }
JAXKERN_UNARY(acos)
JAXKERN_UNARY(acosh)
JAXKERN_UNARY(asin)
JAXKERN_UNARY(asinh)
JAXKERN_UNARY(atan)
JAXKERN_UNARY(atanh)
JAXKERN_UNARY(cbrt)
JAXKERN_UNARY(ceil)
JAXKERN_UNARY(cos)
JAXKERN_UNARY(cosh)
JAXKERN_UNARY(erf)
JAXKERN_UNARY(erfc)
JAXKERN_UNARY(exp)
JAXKERN_UNARY(exp2)
JAXKERN_UNARY(expm1)
JAXKERN_UNARY(fabs)
JAXKERN_UNARY(floor)
JAXKERN_UNARY(lgamma)
JAXKERN_UNARY(log)
JAXKERN_UNARY(log10)
JAXKERN_UNARY(log1p)
JAXKERN_UNARY(log2)
JAXKERN_UNARY(logb)
JAXKERN_UNARY(nearbyint)
JAXKERN_UNARY(rint)
JAXKERN_UNARY(round)
JAXKERN_UNARY(sin)
JAXKERN_UNARY(sinh)
JAXKERN_UNARY(sqrt)
JAXKERN_UNARY(tan)
JAXKERN_UNARY(tanh)
JAXKERN_UNARY(tgamma)
JAXKERN_UNARY(trunc)
JAXKERN_BINARY(atan2)
JAXKERN_BINARY(copysign)
JAXKERN_BINARY(fdim)
JAXKERN_BINARY(fmax)
JAXKERN_BINARY(fmin)
JAXKERN_BINARY(fmod)
JAXKERN_BINARY(hypot)
JAXKERN_BINARY(nextafter)
JAXKERN_BINARY(pow)
JAXKERN_BINARY(remainder)
#undef JAXKERN_UNARY
#undef JAXKERN_BINARY
template <class T>
inline jaxkern_cpu::Only<T, float> fma(T x, T y, T z) {
  return fmaf(x, y, z);
}
template <class T>
inline jaxkern_cpu::Only<T, float> ldexp(T x, int e) {
  return ldexpf(x, e);
}
template <class T>
inline jaxkern_cpu::Only<T, float> abs(T x) {
  return __builtin_fabsf(x);
}
template <class T>
inline jaxkern_cpu::Only<T, double> abs(T x) {
  return __builtin_fabs(x);
}
template <class T>
inline jaxkern_cpu::Only<T, long> abs(T x) {
  return x < 0 ? -x : x;
}
template <class T>
inline jaxkern_cpu::Only<T, long long> abs(T x) {
  return x < 0 ? -x : x;
}

// isnan and its kind take any real type and are macros nowhere.
#define JAXKERN_KIND(name)                                              \
  template <class T>                                                    \
  inline constexpr                                                      \
      typename jaxkern_cpu::If<jaxkern_cpu::Same<T, float>::value ||    \
                                   jaxkern_cpu::Same<T, double>::value, \
                               bool>::type                              \
      name(T x) {                                                       \
    return __builtin_##name(x);                                         \
  }
JAXKERN_KIND(isnan)
JAXKERN_KIND(isinf)
JAXKERN_KIND(isfinite)
JAXKERN_KIND(signbit)
JAXKERN_KIND(isnormal)
#undef JAXKERN_KIND

#define JAXKERN_MINMAX(T)                                    \
  inline constexpr T min(T a, T b) { return b < a ? b : a; } \
  inline constexpr T max(T a, T b) { return a < b ? b : a; }
JAXKERN_MINMAX(int)
JAXKERN_MINMAX(unsigned int)
JAXKERN_MINMAX(long)
JAXKERN_MINMAX(unsigned long)
JAXKERN_MINMAX(long long)
JAXKERN_MINMAX(unsigned long long)
#undef JAXKERN_MINMAX
// As on the device, a NaN loses against a number.
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }
inline double min(float a, double b) { return fmin(double(a), b); }
inline double max(float a, double b) { return fmax(double(a), b); }
inline double min(double a, float b) { return fmin(a, double(b)); }
inline double max(double a, float b) { return fmax(a, double(b)); }
inline unsigned min(int a, unsigned b) { return min(unsigned(a), b); }
inline unsigned max(int a, unsigned b) { return max(unsigned(a), b); }
inline unsigned min(unsigned a, int b) { return min(a, unsigned(b)); }
inline unsigned max(unsigned a, int b) { return max(a, unsigned(b)); }
inline long min(int a, long b) { return min(long(a), b); }
inline long max(int a, long b) { return max(long(a), b); }
inline long min(long a, int b) { return min(a, long(b)); }
inline long max(long a, int b) { return max(a, long(b)); }
inline int umin(unsigned a, unsigned b) { return min(a, b); }
inline int umax(unsigned a, unsigned b) { return max(a, b); }

inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
template <class T>
inline jaxkern_cpu::Only<T, float> rsqrt(T x) {
  return rsqrtf(x);
}
inline float rcbrtf(float x) { return 1.0f / cbrtf(x); }
inline float exp10f(float x) { return powf(10.0f, x); }
inline double exp10(double x) { return pow(10.0, x); }
inline float sinpif(float x) { return float(sin(M_PI * double(x))); }
inline float cospif(float x) { return float(cos(M_PI * double(x))); }
inline void sincospif(float x, float* s, float* c) {
  *s = sinpif(x);
  *c = cospif(x);
}
inline float normcdff(float x) {
  return float(0.5 * erfc(-double(x) * M_SQRT1_2));
}
inline float fdividef(float x, float y) { return x / y; }
inline float norm3df(float x, float y, float z) {
  return sqrtf(x * x + y * y + z * z);
}

// The fast intrinsics are as exact as their slow namesakes here.
inline float __expf(float x) { return expf(x); }
inline float __exp10f(float x) { return exp10f(x); }
inline float __logf(float x) { return logf(x); }
inline float __log2f(float x) { return log2f(x); }
inline float __log10f(float x) { return log10f(x); }
inline float __powf(float x, float y) { return powf(x, y); }
inline float __sinf(float x) { return sinf(x); }
inline float __cosf(float x) { return cosf(x); }
inline float __tanf(float x) { return tanf(x); }
inline float __tanhf(float x) { return tanhf(x); }
inline void __sincosf(float x, float* s, float* c) {
  *s = sinf(x);
  *c = cosf(x);
}
inline float __fdividef(float x, float y) { return x / y; }
inline float __frsqrt_rn(float x) { return rsqrtf(x); }
inline float __fsqrt_rn(float x) { return sqrtf(x); }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __fdiv_rn(float x, float y) { return x / y; }
inline float __fadd_rn(float x, float y) { return x + y; }
inline float __fsub_rn(float x, float y) { return x - y; }
inline float __fmul_rn(float x, float y) { return x * y; }
inline float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
inline double __dadd_rn(double x, double y) { return x + y; }
inline double __dmul_rn(double x, double y) { return x * y; }
inline double __fma_rn(double x, double y, double z) { return fma(x, y, z); }
inline float __saturatef(float x) {
  return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f;
}
