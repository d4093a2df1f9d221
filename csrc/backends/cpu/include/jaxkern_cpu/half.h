// What cuda_fp16.h and cuda_bf16.h have in common: included by each, with
//   JAXKERN_HALF, JAXKERN_PAIR  the type and the type of two
//   JAXKERN_FORMAT              unsigned short From(float), float To(bits)
// Arithmetic rounds once, from float (exact enough for + - * /) or, for
// multiply-add, from double.
struct JAXKERN_HALF {
  unsigned short bits;
  JAXKERN_HALF() = default;
  JAXKERN_HALF(float x) : bits(JAXKERN_FORMAT::From(x)) {}
  JAXKERN_HALF(double x)
      : bits(JAXKERN_FORMAT::From(jaxkern_cpu::RoundToOdd(x))) {}
  JAXKERN_HALF(int x) : JAXKERN_HALF(double(x)) {}
  JAXKERN_HALF(unsigned x) : JAXKERN_HALF(double(x)) {}
  JAXKERN_HALF(long x) : JAXKERN_HALF(double(x)) {}
  JAXKERN_HALF(long long x) : JAXKERN_HALF(double(x)) {}
  JAXKERN_HALF(unsigned long x) : JAXKERN_HALF(double(x)) {}
  JAXKERN_HALF(unsigned long long x) : JAXKERN_HALF(double(x)) {}
  JAXKERN_INLINE operator float() const { return JAXKERN_FORMAT::To(bits); }
  JAXKERN_INLINE JAXKERN_HALF& operator+=(JAXKERN_HALF b) {
    return *this = JAXKERN_HALF(float(*this) + float(b));
  }
  JAXKERN_INLINE JAXKERN_HALF& operator-=(JAXKERN_HALF b) {
    return *this = JAXKERN_HALF(float(*this) - float(b));
  }
  JAXKERN_INLINE JAXKERN_HALF& operator*=(JAXKERN_HALF b) {
    return *this = JAXKERN_HALF(float(*this) * float(b));
  }
  JAXKERN_INLINE JAXKERN_HALF& operator/=(JAXKERN_HALF b) {
    return *this = JAXKERN_HALF(float(*this) / float(b));
  }
};
struct __attribute__((aligned(4))) JAXKERN_PAIR {
  JAXKERN_HALF x, y;
  JAXKERN_PAIR() = default;
  JAXKERN_PAIR(JAXKERN_HALF x, JAXKERN_HALF y) : x(x), y(y) {}
};

inline JAXKERN_HALF operator+(JAXKERN_HALF a, JAXKERN_HALF b) {
  return float(a) + float(b);
}
inline JAXKERN_HALF operator-(JAXKERN_HALF a, JAXKERN_HALF b) {
  return float(a) - float(b);
}
inline JAXKERN_HALF operator*(JAXKERN_HALF a, JAXKERN_HALF b) {
  return float(a) * float(b);
}
inline JAXKERN_HALF operator/(JAXKERN_HALF a, JAXKERN_HALF b) {
  return float(a) / float(b);
}
inline JAXKERN_HALF operator-(JAXKERN_HALF a) { return -float(a); }
inline bool operator==(JAXKERN_HALF a, JAXKERN_HALF b) {
  return float(a) == float(b);
}
inline bool operator!=(JAXKERN_HALF a, JAXKERN_HALF b) {
  return float(a) != float(b);
}
inline bool operator<(JAXKERN_HALF a, JAXKERN_HALF b) {
  return float(a) < float(b);
}
inline bool operator>(JAXKERN_HALF a, JAXKERN_HALF b) {
  return float(a) > float(b);
}
inline bool operator<=(JAXKERN_HALF a, JAXKERN_HALF b) {
  return float(a) <= float(b);
}
inline bool operator>=(JAXKERN_HALF a, JAXKERN_HALF b) {
  return float(a) >= float(b);
}

inline JAXKERN_HALF __hadd(JAXKERN_HALF a, JAXKERN_HALF b) { return a + b; }
inline JAXKERN_HALF __hsub(JAXKERN_HALF a, JAXKERN_HALF b) { return a - b; }
inline JAXKERN_HALF __hmul(JAXKERN_HALF a, JAXKERN_HALF b) { return a * b; }
inline JAXKERN_HALF __hdiv(JAXKERN_HALF a, JAXKERN_HALF b) { return a / b; }
inline JAXKERN_HALF __hneg(JAXKERN_HALF a) { return -a; }
inline JAXKERN_HALF __habs(JAXKERN_HALF a) { return fabsf(a); }
inline JAXKERN_HALF __hfma(JAXKERN_HALF a, JAXKERN_HALF b, JAXKERN_HALF c) {
  return double(float(a)) * double(float(b)) + double(float(c));
}
inline JAXKERN_HALF __hmax(JAXKERN_HALF a, JAXKERN_HALF b) {
  return fmaxf(a, b);
}
inline JAXKERN_HALF __hmin(JAXKERN_HALF a, JAXKERN_HALF b) {
  return fminf(a, b);
}
inline bool __heq(JAXKERN_HALF a, JAXKERN_HALF b) { return a == b; }
inline bool __hne(JAXKERN_HALF a, JAXKERN_HALF b) { return a != b; }
inline bool __hlt(JAXKERN_HALF a, JAXKERN_HALF b) { return a < b; }
inline bool __hle(JAXKERN_HALF a, JAXKERN_HALF b) { return a <= b; }
inline bool __hgt(JAXKERN_HALF a, JAXKERN_HALF b) { return a > b; }
inline bool __hge(JAXKERN_HALF a, JAXKERN_HALF b) { return a >= b; }
inline bool __hisnan(JAXKERN_HALF a) { return isnan(float(a)); }
inline int __hisinf(JAXKERN_HALF a) {
  return isinf(float(a)) ? (a < JAXKERN_HALF(0) ? -1 : 1) : 0;
}
inline JAXKERN_HALF hexp(JAXKERN_HALF x) { return expf(x); }
inline JAXKERN_HALF hexp2(JAXKERN_HALF x) { return exp2f(x); }
inline JAXKERN_HALF hlog(JAXKERN_HALF x) { return logf(x); }
inline JAXKERN_HALF hlog2(JAXKERN_HALF x) { return log2f(x); }
inline JAXKERN_HALF hsqrt(JAXKERN_HALF x) { return sqrtf(x); }
inline JAXKERN_HALF hrsqrt(JAXKERN_HALF x) { return rsqrtf(x); }
inline JAXKERN_HALF hrcp(JAXKERN_HALF x) { return 1.0f / float(x); }
inline JAXKERN_HALF hsin(JAXKERN_HALF x) { return sinf(x); }
inline JAXKERN_HALF hcos(JAXKERN_HALF x) { return cosf(x); }
inline JAXKERN_HALF htanh(JAXKERN_HALF x) { return tanhf(x); }
inline JAXKERN_HALF hfloor(JAXKERN_HALF x) { return floorf(x); }
inline JAXKERN_HALF hceil(JAXKERN_HALF x) { return ceilf(x); }
inline JAXKERN_HALF htrunc(JAXKERN_HALF x) { return truncf(x); }
inline JAXKERN_HALF hrint(JAXKERN_HALF x) { return rintf(x); }

inline float __low2float(JAXKERN_PAIR v) { return v.x; }
inline float __high2float(JAXKERN_PAIR v) { return v.y; }
#define JAXKERN_EACH(name)                                      \
  inline JAXKERN_PAIR name##2(JAXKERN_PAIR a, JAXKERN_PAIR b) { \
    return {name(a.x, b.x), name(a.y, b.y)};                    \
  }
JAXKERN_EACH(__hadd)
JAXKERN_EACH(__hsub)
JAXKERN_EACH(__hmul)
JAXKERN_EACH(__hmax)
JAXKERN_EACH(__hmin)
#undef JAXKERN_EACH
inline JAXKERN_PAIR __h2div(JAXKERN_PAIR a, JAXKERN_PAIR b) {
  return {a.x / b.x, a.y / b.y};
}
inline JAXKERN_PAIR __hfma2(JAXKERN_PAIR a, JAXKERN_PAIR b, JAXKERN_PAIR c) {
  return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}
inline JAXKERN_PAIR __hneg2(JAXKERN_PAIR a) { return {-a.x, -a.y}; }
inline JAXKERN_PAIR h2exp(JAXKERN_PAIR a) { return {hexp(a.x), hexp(a.y)}; }
inline JAXKERN_PAIR h2rsqrt(JAXKERN_PAIR a) {
  return {hrsqrt(a.x), hrsqrt(a.y)};
}
inline JAXKERN_PAIR h2sqrt(JAXKERN_PAIR a) { return {hsqrt(a.x), hsqrt(a.y)}; }
inline JAXKERN_PAIR operator+(JAXKERN_PAIR a, JAXKERN_PAIR b) {
  return __hadd2(a, b);
}
inline JAXKERN_PAIR operator-(JAXKERN_PAIR a, JAXKERN_PAIR b) {
  return __hsub2(a, b);
}
inline JAXKERN_PAIR operator*(JAXKERN_PAIR a, JAXKERN_PAIR b) {
  return __hmul2(a, b);
}
inline JAXKERN_PAIR operator/(JAXKERN_PAIR a, JAXKERN_PAIR b) {
  return __h2div(a, b);
}

JAXKERN_INLINE JAXKERN_HALF atomicAdd(JAXKERN_HALF* address, JAXKERN_HALF v) {
  return jaxkern_cpu::Atomic(address, [v](JAXKERN_HALF a) { return a + v; });
}
JAXKERN_INLINE JAXKERN_PAIR atomicAdd(JAXKERN_PAIR* address, JAXKERN_PAIR v) {
  return jaxkern_cpu::Atomic(address, [v](JAXKERN_PAIR a) { return a + v; });
}
#undef JAXKERN_HALF
#undef JAXKERN_PAIR
#undef JAXKERN_FORMAT
