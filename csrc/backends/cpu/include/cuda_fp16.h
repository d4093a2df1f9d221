// half precision with CUDA's names. Arithmetic rounds once, from float (exact
// enough for + - * /) or, for multiply-add, from double.
#pragma once
#include "cuda_runtime.h"

struct __half {
  unsigned short bits;
  __half() = default;
  __half(float x) : bits(FromFloat(x)) {}
  __half(double x) : bits(FromFloat(jaxkern_cpu::RoundToOdd(x))) {}
  __half(int x) : __half(double(x)) {}
  __half(unsigned x) : __half(double(x)) {}
  __half(long x) : __half(double(x)) {}
  __half(long long x) : __half(double(x)) {}
  __half(unsigned long x) : __half(double(x)) {}
  __half(unsigned long long x) : __half(double(x)) {}
  operator float() const { return ToFloat(bits); }
  __half& operator+=(__half b) {
    return *this = __half(float(*this) + float(b));
  }
  __half& operator-=(__half b) {
    return *this = __half(float(*this) - float(b));
  }
  __half& operator*=(__half b) {
    return *this = __half(float(*this) * float(b));
  }
  __half& operator/=(__half b) {
    return *this = __half(float(*this) / float(b));
  }

 private:
  static unsigned short FromFloat(float x) {
    _Float16 h = _Float16(x);
    unsigned short b;
    memcpy(&b, &h, 2);
    return b;
  }
  static float ToFloat(unsigned short b) {
    _Float16 h;
    memcpy(&h, &b, 2);
    return float(h);
  }
};
struct __attribute__((aligned(4))) __half2 {
  __half x, y;
  __half2() = default;
  __half2(__half x, __half y) : x(x), y(y) {}
};
typedef __half half;
typedef __half2 half2;
struct __half_raw {
  unsigned short x;
};

inline __half operator+(__half a, __half b) { return float(a) + float(b); }
inline __half operator-(__half a, __half b) { return float(a) - float(b); }
inline __half operator*(__half a, __half b) { return float(a) * float(b); }
inline __half operator/(__half a, __half b) { return float(a) / float(b); }
inline __half operator-(__half a) { return -float(a); }
inline bool operator==(__half a, __half b) { return float(a) == float(b); }
inline bool operator!=(__half a, __half b) { return float(a) != float(b); }
inline bool operator<(__half a, __half b) { return float(a) < float(b); }
inline bool operator>(__half a, __half b) { return float(a) > float(b); }
inline bool operator<=(__half a, __half b) { return float(a) <= float(b); }
inline bool operator>=(__half a, __half b) { return float(a) >= float(b); }

inline float __half2float(__half x) { return x; }
inline __half __float2half(float x) { return x; }
inline __half __float2half_rn(float x) { return x; }
inline __half __double2half(double x) { return x; }
inline __half __int2half_rn(int x) { return x; }
inline int __half2int_rn(__half x) { return __float2int_rn(x); }
inline int __half2int_rz(__half x) { return __float2int_rz(x); }
inline unsigned short __half_as_ushort(__half x) { return x.bits; }
inline __half __ushort_as_half(unsigned short x) {
  __half h;
  h.bits = x;
  return h;
}
inline __half __hadd(__half a, __half b) { return a + b; }
inline __half __hsub(__half a, __half b) { return a - b; }
inline __half __hmul(__half a, __half b) { return a * b; }
inline __half __hdiv(__half a, __half b) { return a / b; }
inline __half __hneg(__half a) { return -a; }
inline __half __habs(__half a) { return fabsf(a); }
inline __half __hfma(__half a, __half b, __half c) {
  return double(float(a)) * double(float(b)) + double(float(c));
}
inline __half __hmax(__half a, __half b) { return fmaxf(a, b); }
inline __half __hmin(__half a, __half b) { return fminf(a, b); }
inline bool __heq(__half a, __half b) { return a == b; }
inline bool __hne(__half a, __half b) { return a != b; }
inline bool __hlt(__half a, __half b) { return a < b; }
inline bool __hle(__half a, __half b) { return a <= b; }
inline bool __hgt(__half a, __half b) { return a > b; }
inline bool __hge(__half a, __half b) { return a >= b; }
inline bool __hisnan(__half a) { return isnan(float(a)); }
inline int __hisinf(__half a) {
  return isinf(float(a)) ? (a < __half(0) ? -1 : 1) : 0;
}
inline __half hexp(__half x) { return expf(x); }
inline __half hexp2(__half x) { return exp2f(x); }
inline __half hlog(__half x) { return logf(x); }
inline __half hlog2(__half x) { return log2f(x); }
inline __half hsqrt(__half x) { return sqrtf(x); }
inline __half hrsqrt(__half x) { return rsqrtf(x); }
inline __half hrcp(__half x) { return 1.0f / float(x); }
inline __half hsin(__half x) { return sinf(x); }
inline __half hcos(__half x) { return cosf(x); }
inline __half htanh(__half x) { return tanhf(x); }
inline __half hfloor(__half x) { return floorf(x); }
inline __half hceil(__half x) { return ceilf(x); }
inline __half htrunc(__half x) { return truncf(x); }
inline __half hrint(__half x) { return rintf(x); }

inline __half2 make_half2(__half x, __half y) { return {x, y}; }
inline __half2 __halves2half2(__half x, __half y) { return {x, y}; }
inline __half2 __half2half2(__half x) { return {x, x}; }
inline __half2 __float2half2_rn(float x) { return {x, x}; }
inline __half2 __floats2half2_rn(float x, float y) { return {x, y}; }
inline __half2 __float22half2_rn(float2 v) { return {v.x, v.y}; }
inline float2 __half22float2(__half2 v) { return {v.x, v.y}; }
inline __half __low2half(__half2 v) { return v.x; }
inline __half __high2half(__half2 v) { return v.y; }
inline float __low2float(__half2 v) { return v.x; }
inline float __high2float(__half2 v) { return v.y; }
#define JAXKERN_PAIR(name)                       \
  inline __half2 name##2(__half2 a, __half2 b) { \
    return {name(a.x, b.x), name(a.y, b.y)};     \
  }
JAXKERN_PAIR(__hadd)
JAXKERN_PAIR(__hsub)
JAXKERN_PAIR(__hmul)
JAXKERN_PAIR(__hmax)
JAXKERN_PAIR(__hmin)
#undef JAXKERN_PAIR
inline __half2 __h2div(__half2 a, __half2 b) { return {a.x / b.x, a.y / b.y}; }
inline __half2 __hfma2(__half2 a, __half2 b, __half2 c) {
  return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}
inline __half2 __hneg2(__half2 a) { return {-a.x, -a.y}; }
inline __half2 h2exp(__half2 a) { return {hexp(a.x), hexp(a.y)}; }
inline __half2 h2rsqrt(__half2 a) { return {hrsqrt(a.x), hrsqrt(a.y)}; }
inline __half2 h2sqrt(__half2 a) { return {hsqrt(a.x), hsqrt(a.y)}; }
inline __half2 operator+(__half2 a, __half2 b) { return __hadd2(a, b); }
inline __half2 operator-(__half2 a, __half2 b) { return __hsub2(a, b); }
inline __half2 operator*(__half2 a, __half2 b) { return __hmul2(a, b); }
inline __half2 operator/(__half2 a, __half2 b) { return __h2div(a, b); }

inline __half atomicAdd(__half* address, __half v) {
  return jaxkern_cpu::Atomic(address, [v](__half a) { return a + v; });
}
inline __half2 atomicAdd(__half2* address, __half2 v) {
  return jaxkern_cpu::Atomic(address, [v](__half2 a) { return a + v; });
}
