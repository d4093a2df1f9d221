// bfloat16 with CUDA's names. Arithmetic rounds once, from float (exact enough
// for + - * /) or, for multiply-add, from double.
#pragma once
#include "cuda_runtime.h"

struct __nv_bfloat16 {
  unsigned short bits;
  __nv_bfloat16() = default;
  __nv_bfloat16(float x) : bits(FromFloat(x)) {}
  __nv_bfloat16(double x) : bits(FromFloat(jaxkern_cpu::RoundToOdd(x))) {}
  __nv_bfloat16(int x) : __nv_bfloat16(double(x)) {}
  __nv_bfloat16(unsigned x) : __nv_bfloat16(double(x)) {}
  __nv_bfloat16(long x) : __nv_bfloat16(double(x)) {}
  __nv_bfloat16(long long x) : __nv_bfloat16(double(x)) {}
  __nv_bfloat16(unsigned long x) : __nv_bfloat16(double(x)) {}
  __nv_bfloat16(unsigned long long x) : __nv_bfloat16(double(x)) {}
  operator float() const { return ToFloat(bits); }
  __nv_bfloat16& operator+=(__nv_bfloat16 b) {
    return *this = __nv_bfloat16(float(*this) + float(b));
  }
  __nv_bfloat16& operator-=(__nv_bfloat16 b) {
    return *this = __nv_bfloat16(float(*this) - float(b));
  }
  __nv_bfloat16& operator*=(__nv_bfloat16 b) {
    return *this = __nv_bfloat16(float(*this) * float(b));
  }
  __nv_bfloat16& operator/=(__nv_bfloat16 b) {
    return *this = __nv_bfloat16(float(*this) / float(b));
  }

 private:
  static unsigned short FromFloat(float x) {
    unsigned u;
    memcpy(&u, &x, 4);
    if ((u & 0x7fffffffu) > 0x7f800000u) return 0x7fff;  // NaN
    return (unsigned short)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
  }
  static float ToFloat(unsigned short b) {
    unsigned u = unsigned(b) << 16;
    float x;
    memcpy(&x, &u, 4);
    return x;
  }
};
struct __attribute__((aligned(4))) __nv_bfloat162 {
  __nv_bfloat16 x, y;
  __nv_bfloat162() = default;
  __nv_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) : x(x), y(y) {}
};
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;
struct __nv_bfloat16_raw {
  unsigned short x;
};

inline __nv_bfloat16 operator+(__nv_bfloat16 a, __nv_bfloat16 b) {
  return float(a) + float(b);
}
inline __nv_bfloat16 operator-(__nv_bfloat16 a, __nv_bfloat16 b) {
  return float(a) - float(b);
}
inline __nv_bfloat16 operator*(__nv_bfloat16 a, __nv_bfloat16 b) {
  return float(a) * float(b);
}
inline __nv_bfloat16 operator/(__nv_bfloat16 a, __nv_bfloat16 b) {
  return float(a) / float(b);
}
inline __nv_bfloat16 operator-(__nv_bfloat16 a) { return -float(a); }
inline bool operator==(__nv_bfloat16 a, __nv_bfloat16 b) {
  return float(a) == float(b);
}
inline bool operator!=(__nv_bfloat16 a, __nv_bfloat16 b) {
  return float(a) != float(b);
}
inline bool operator<(__nv_bfloat16 a, __nv_bfloat16 b) {
  return float(a) < float(b);
}
inline bool operator>(__nv_bfloat16 a, __nv_bfloat16 b) {
  return float(a) > float(b);
}
inline bool operator<=(__nv_bfloat16 a, __nv_bfloat16 b) {
  return float(a) <= float(b);
}
inline bool operator>=(__nv_bfloat16 a, __nv_bfloat16 b) {
  return float(a) >= float(b);
}

inline float __bfloat162float(__nv_bfloat16 x) { return x; }
inline __nv_bfloat16 __float2bfloat16(float x) { return x; }
inline __nv_bfloat16 __float2bfloat16_rn(float x) { return x; }
inline __nv_bfloat16 __double2bfloat16(double x) { return x; }
inline __nv_bfloat16 __int2bfloat16_rn(int x) { return x; }
inline int __bfloat162int_rn(__nv_bfloat16 x) { return __float2int_rn(x); }
inline int __bfloat162int_rz(__nv_bfloat16 x) { return __float2int_rz(x); }
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) { return x.bits; }
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short x) {
  __nv_bfloat16 h;
  h.bits = x;
  return h;
}
inline __nv_bfloat16 __hadd(__nv_bfloat16 a, __nv_bfloat16 b) { return a + b; }
inline __nv_bfloat16 __hsub(__nv_bfloat16 a, __nv_bfloat16 b) { return a - b; }
inline __nv_bfloat16 __hmul(__nv_bfloat16 a, __nv_bfloat16 b) { return a * b; }
inline __nv_bfloat16 __hdiv(__nv_bfloat16 a, __nv_bfloat16 b) { return a / b; }
inline __nv_bfloat16 __hneg(__nv_bfloat16 a) { return -a; }
inline __nv_bfloat16 __habs(__nv_bfloat16 a) { return fabsf(a); }
inline __nv_bfloat16 __hfma(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c) {
  return double(float(a)) * double(float(b)) + double(float(c));
}
inline __nv_bfloat16 __hmax(__nv_bfloat16 a, __nv_bfloat16 b) {
  return fmaxf(a, b);
}
inline __nv_bfloat16 __hmin(__nv_bfloat16 a, __nv_bfloat16 b) {
  return fminf(a, b);
}
inline bool __heq(__nv_bfloat16 a, __nv_bfloat16 b) { return a == b; }
inline bool __hne(__nv_bfloat16 a, __nv_bfloat16 b) { return a != b; }
inline bool __hlt(__nv_bfloat16 a, __nv_bfloat16 b) { return a < b; }
inline bool __hle(__nv_bfloat16 a, __nv_bfloat16 b) { return a <= b; }
inline bool __hgt(__nv_bfloat16 a, __nv_bfloat16 b) { return a > b; }
inline bool __hge(__nv_bfloat16 a, __nv_bfloat16 b) { return a >= b; }
inline bool __hisnan(__nv_bfloat16 a) { return isnan(float(a)); }
inline int __hisinf(__nv_bfloat16 a) {
  return isinf(float(a)) ? (a < __nv_bfloat16(0) ? -1 : 1) : 0;
}
inline __nv_bfloat16 hexp(__nv_bfloat16 x) { return expf(x); }
inline __nv_bfloat16 hexp2(__nv_bfloat16 x) { return exp2f(x); }
inline __nv_bfloat16 hlog(__nv_bfloat16 x) { return logf(x); }
inline __nv_bfloat16 hlog2(__nv_bfloat16 x) { return log2f(x); }
inline __nv_bfloat16 hsqrt(__nv_bfloat16 x) { return sqrtf(x); }
inline __nv_bfloat16 hrsqrt(__nv_bfloat16 x) { return rsqrtf(x); }
inline __nv_bfloat16 hrcp(__nv_bfloat16 x) { return 1.0f / float(x); }
inline __nv_bfloat16 hsin(__nv_bfloat16 x) { return sinf(x); }
inline __nv_bfloat16 hcos(__nv_bfloat16 x) { return cosf(x); }
inline __nv_bfloat16 htanh(__nv_bfloat16 x) { return tanhf(x); }
inline __nv_bfloat16 hfloor(__nv_bfloat16 x) { return floorf(x); }
inline __nv_bfloat16 hceil(__nv_bfloat16 x) { return ceilf(x); }
inline __nv_bfloat16 htrunc(__nv_bfloat16 x) { return truncf(x); }
inline __nv_bfloat16 hrint(__nv_bfloat16 x) { return rintf(x); }

inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) {
  return {x, y};
}
inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) {
  return {x, y};
}
inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 x) { return {x, x}; }
inline __nv_bfloat162 __float2bfloat162_rn(float x) { return {x, x}; }
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) { return {x, y}; }
inline __nv_bfloat162 __float22bfloat162_rn(float2 v) { return {v.x, v.y}; }
inline float2 __bfloat1622float2(__nv_bfloat162 v) { return {v.x, v.y}; }
inline __nv_bfloat16 __low2bfloat16(__nv_bfloat162 v) { return v.x; }
inline __nv_bfloat16 __high2bfloat16(__nv_bfloat162 v) { return v.y; }
inline float __low2float(__nv_bfloat162 v) { return v.x; }
inline float __high2float(__nv_bfloat162 v) { return v.y; }
#define JAXKERN_PAIR(name)                                            \
  inline __nv_bfloat162 name##2(__nv_bfloat162 a, __nv_bfloat162 b) { \
    return {name(a.x, b.x), name(a.y, b.y)};                          \
  }
JAXKERN_PAIR(__hadd)
JAXKERN_PAIR(__hsub)
JAXKERN_PAIR(__hmul)
JAXKERN_PAIR(__hmax)
JAXKERN_PAIR(__hmin)
#undef JAXKERN_PAIR
inline __nv_bfloat162 __h2div(__nv_bfloat162 a, __nv_bfloat162 b) {
  return {a.x / b.x, a.y / b.y};
}
inline __nv_bfloat162 __hfma2(__nv_bfloat162 a, __nv_bfloat162 b,
                              __nv_bfloat162 c) {
  return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}
inline __nv_bfloat162 __hneg2(__nv_bfloat162 a) { return {-a.x, -a.y}; }
inline __nv_bfloat162 h2exp(__nv_bfloat162 a) { return {hexp(a.x), hexp(a.y)}; }
inline __nv_bfloat162 h2rsqrt(__nv_bfloat162 a) {
  return {hrsqrt(a.x), hrsqrt(a.y)};
}
inline __nv_bfloat162 h2sqrt(__nv_bfloat162 a) {
  return {hsqrt(a.x), hsqrt(a.y)};
}
inline __nv_bfloat162 operator+(__nv_bfloat162 a, __nv_bfloat162 b) {
  return __hadd2(a, b);
}
inline __nv_bfloat162 operator-(__nv_bfloat162 a, __nv_bfloat162 b) {
  return __hsub2(a, b);
}
inline __nv_bfloat162 operator*(__nv_bfloat162 a, __nv_bfloat162 b) {
  return __hmul2(a, b);
}
inline __nv_bfloat162 operator/(__nv_bfloat162 a, __nv_bfloat162 b) {
  return __h2div(a, b);
}

inline __nv_bfloat16 atomicAdd(__nv_bfloat16* address, __nv_bfloat16 v) {
  return jaxkern_cpu::Atomic(address, [v](__nv_bfloat16 a) { return a + v; });
}
inline __nv_bfloat162 atomicAdd(__nv_bfloat162* address, __nv_bfloat162 v) {
  return jaxkern_cpu::Atomic(address, [v](__nv_bfloat162 a) { return a + v; });
}
