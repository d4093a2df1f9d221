// half precision with CUDA's names.
#pragma once
#include "cuda_runtime.h"

namespace jaxkern_cpu {
struct Half {
  static unsigned short From(float x) {
    _Float16 h = _Float16(x);
    unsigned short b;
    memcpy(&b, &h, 2);
    return b;
  }
  static float To(unsigned short b) {
    _Float16 h;
    memcpy(&h, &b, 2);
    return float(h);
  }
};
}  // namespace jaxkern_cpu

#define JAXKERN_HALF __half
#define JAXKERN_PAIR __half2
#define JAXKERN_FORMAT jaxkern_cpu::Half
#include "jaxkern_cpu/half.h"

typedef __half half;
typedef __half2 half2;
struct __half_raw {
  unsigned short x;
};

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
inline __half2 make_half2(__half x, __half y) { return {x, y}; }
inline __half2 __halves2half2(__half x, __half y) { return {x, y}; }
inline __half2 __half2half2(__half x) { return {x, x}; }
inline __half2 __float2half2_rn(float x) { return {x, x}; }
inline __half2 __floats2half2_rn(float x, float y) { return {x, y}; }
inline __half2 __float22half2_rn(float2 v) { return {v.x, v.y}; }
inline float2 __half22float2(__half2 v) { return {v.x, v.y}; }
inline __half __low2half(__half2 v) { return v.x; }
inline __half __high2half(__half2 v) { return v.y; }
