// What a kernel calls: indices, barriers, shuffles, votes, atomics, intrinsics.
#pragma once
#include "runtime_abi.h"

constexpr int warpSize = 32;

namespace jaxkern_cpu {
template <class T>
inline uint64_t ToBits(T value) {
  static_assert(sizeof(T) <= 8, "shuffles move at most 8 bytes");
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof(T));
  return bits;
}
template <class T>
inline T FromBits(uint64_t bits) {
  T value;
  memcpy(&value, &bits, sizeof(T));
  return value;
}
}  // namespace jaxkern_cpu

// The caller's line is what a divergent barrier is reported with.
#define JAXKERN_LINE int line = __builtin_LINE()

inline void __syncthreads(JAXKERN_LINE) {
  jaxkern_syncthreads(0, JAXKERN_COUNT, line);
}
inline int __syncthreads_count(int p, JAXKERN_LINE) {
  return jaxkern_syncthreads(p, JAXKERN_COUNT, line);
}
inline int __syncthreads_and(int p, JAXKERN_LINE) {
  return jaxkern_syncthreads(p, JAXKERN_AND, line);
}
inline int __syncthreads_or(int p, JAXKERN_LINE) {
  return jaxkern_syncthreads(p, JAXKERN_OR, line);
}
inline void __syncwarp(unsigned mask = 0xffffffffu, JAXKERN_LINE) {
  jaxkern_syncwarp(mask, line);
}
inline unsigned __activemask(JAXKERN_LINE) { return jaxkern_activemask(line); }

template <class T>
inline T __shfl_sync(unsigned mask, T v, int source, int width = 32,
                     JAXKERN_LINE) {
  int lane = int(jaxkern_lane()), base = lane & ~(width - 1);
  return jaxkern_cpu::FromBits<T>(jaxkern_shuffle(
      mask, jaxkern_cpu::ToBits(v), base + (source & (width - 1)), line));
}
template <class T>
inline T __shfl_up_sync(unsigned mask, T v, unsigned delta, int width = 32,
                        JAXKERN_LINE) {
  int lane = int(jaxkern_lane()), source = lane - int(delta);
  if (source < (lane & ~(width - 1))) source = lane;
  return jaxkern_cpu::FromBits<T>(
      jaxkern_shuffle(mask, jaxkern_cpu::ToBits(v), source, line));
}
template <class T>
inline T __shfl_down_sync(unsigned mask, T v, unsigned delta, int width = 32,
                          JAXKERN_LINE) {
  int lane = int(jaxkern_lane()), source = lane + int(delta);
  if (source > (lane | (width - 1))) source = lane;
  return jaxkern_cpu::FromBits<T>(
      jaxkern_shuffle(mask, jaxkern_cpu::ToBits(v), source, line));
}
template <class T>
inline T __shfl_xor_sync(unsigned mask, T v, int bits, int width = 32,
                         JAXKERN_LINE) {
  int lane = int(jaxkern_lane()), source = lane ^ bits;
  if (source > (lane | (width - 1))) source = lane;
  return jaxkern_cpu::FromBits<T>(
      jaxkern_shuffle(mask, jaxkern_cpu::ToBits(v), source, line));
}

inline unsigned __ballot_sync(unsigned mask, int p, JAXKERN_LINE) {
  uint64_t values[32];
  unsigned lanes = jaxkern_gather(mask, p != 0, values, line), votes = 0;
  for (int l = 0; l < 32; ++l)
    if (lanes >> l & 1) votes |= unsigned(values[l]) << l;
  return votes;
}
inline int __all_sync(unsigned mask, int p, JAXKERN_LINE) {
  uint64_t values[32];
  unsigned lanes = jaxkern_gather(mask, p != 0, values, line);
  for (int l = 0; l < 32; ++l)
    if ((lanes >> l & 1) && !values[l]) return 0;
  return 1;
}
inline int __any_sync(unsigned mask, int p, JAXKERN_LINE) {
  return __ballot_sync(mask, p, line) != 0;
}
template <class T>
inline unsigned __match_any_sync(unsigned mask, T v, JAXKERN_LINE) {
  uint64_t values[32], mine = jaxkern_cpu::ToBits(v);
  unsigned lanes = jaxkern_gather(mask, mine, values, line), same = 0;
  for (int l = 0; l < 32; ++l)
    if ((lanes >> l & 1) && values[l] == mine) same |= 1u << l;
  return same;
}
template <class T>
inline unsigned __match_all_sync(unsigned mask, T v, int* all, JAXKERN_LINE) {
  uint64_t values[32], mine = jaxkern_cpu::ToBits(v);
  unsigned lanes = jaxkern_gather(mask, mine, values, line);
  *all = 1;
  for (int l = 0; l < 32; ++l)
    if ((lanes >> l & 1) && values[l] != mine) *all = 0;
  return *all ? lanes : 0;
}

#define JAXKERN_REDUCE(name, T, expression)                           \
  inline T __reduce_##name##_sync(unsigned mask, T v, JAXKERN_LINE) { \
    uint64_t values[32];                                              \
    unsigned lanes =                                                  \
        jaxkern_gather(mask, jaxkern_cpu::ToBits(v), values, line);   \
    bool first = true;                                                \
    T a = v;                                                          \
    for (int l = 0; l < 32; ++l) {                                    \
      if (!(lanes >> l & 1)) continue;                                \
      T b = jaxkern_cpu::FromBits<T>(values[l]);                      \
      a = first ? b : (expression);                                   \
      first = false;                                                  \
    }                                                                 \
    return a;                                                         \
  }
JAXKERN_REDUCE(add, int, a + b)
JAXKERN_REDUCE(min, int, a < b ? a : b)
JAXKERN_REDUCE(max, int, a < b ? b : a)
JAXKERN_REDUCE(add, unsigned, a + b)
JAXKERN_REDUCE(min, unsigned, a < b ? a : b)
JAXKERN_REDUCE(max, unsigned, a < b ? b : a)
JAXKERN_REDUCE(and, unsigned, a& b)
JAXKERN_REDUCE(or, unsigned, a | b)
JAXKERN_REDUCE(xor, unsigned, a ^ b)
#undef JAXKERN_REDUCE

inline void __threadfence() { __sync_synchronize(); }
inline void __threadfence_block() { __sync_synchronize(); }
inline void __threadfence_system() { __sync_synchronize(); }
inline void __nanosleep(unsigned) {}
inline long long clock64() { return (long long)__builtin_ia32_rdtsc(); }
// As <time.h> declares it, which a candidate may include.
extern "C" long clock() noexcept(true) __asm__("jaxkern_clock");
inline void __trap() { jaxkern_trap("__trap()"); }
#define __brkpt() __trap()

// Atomics: a compare-and-swap loop on the bits serves every type and operation.
namespace jaxkern_cpu {
template <size_t N>
struct Word;
template <>
struct Word<2> {
  typedef uint16_t type;
};
template <>
struct Word<4> {
  typedef uint32_t type;
};
template <>
struct Word<8> {
  typedef uint64_t type;
};
template <class T, class F>
JAXKERN_INLINE T Atomic(T* address, F next) {
  typedef typename Word<sizeof(T)>::type W;
  W* word = (W*)address;
  W old = __atomic_load_n(word, __ATOMIC_RELAXED);
  for (;;) {
    T before, after;
    memcpy(&before, &old, sizeof(T));
    after = next(before);
    W wanted;
    memcpy(&wanted, &after, sizeof(T));
    if (__atomic_compare_exchange_n(word, &old, wanted, true, __ATOMIC_SEQ_CST,
                                    __ATOMIC_RELAXED))
      return before;
  }
}
}  // namespace jaxkern_cpu

#define JAXKERN_ATOMIC(name, T, expression)                                    \
  JAXKERN_INLINE T name(T* address, T v) {                                     \
    return jaxkern_cpu::Atomic(address, [v](T a) -> T { return expression; }); \
  }                                                                            \
  JAXKERN_INLINE T name##_block(T* address, T v) { return name(address, v); }  \
  JAXKERN_INLINE T name##_system(T* address, T v) { return name(address, v); }
#define JAXKERN_ATOMICS(T)                                                 \
  JAXKERN_ATOMIC(atomicAdd, T, a + v)                                      \
  JAXKERN_ATOMIC(atomicSub, T, a - v)                                      \
  JAXKERN_ATOMIC(atomicMin, T, v < a ? v : a)                              \
  JAXKERN_ATOMIC(atomicMax, T, a < v ? v : a)                              \
  JAXKERN_ATOMIC(atomicExch, T, (void(a), v))                              \
  JAXKERN_ATOMIC(atomicAnd, T, a& v)                                       \
  JAXKERN_ATOMIC(atomicOr, T, a | v)                                       \
  JAXKERN_ATOMIC(atomicXor, T, a ^ v)                                      \
  JAXKERN_INLINE T atomicCAS(T* address, T compare, T v) {                 \
    return jaxkern_cpu::Atomic(address,                                    \
                               [=](T a) { return a == compare ? v : a; }); \
  }
JAXKERN_ATOMICS(int)
JAXKERN_ATOMICS(unsigned)
JAXKERN_ATOMICS(unsigned long long)
JAXKERN_ATOMIC(atomicMin, long long, v < a ? v : a)
JAXKERN_ATOMIC(atomicMax, long long, a < v ? v : a)
JAXKERN_ATOMIC(atomicAdd, float, a + v)
JAXKERN_ATOMIC(atomicExch, float, (void(a), v))
JAXKERN_ATOMIC(atomicAdd, double, a + v)
JAXKERN_ATOMIC(atomicInc, unsigned, a >= v ? 0 : a + 1)
JAXKERN_ATOMIC(atomicDec, unsigned, a == 0 || a > v ? v : a - 1)
JAXKERN_INLINE unsigned short atomicCAS(unsigned short* address,
                                        unsigned short compare,
                                        unsigned short v) {
  return jaxkern_cpu::Atomic(
      address, [=](unsigned short a) { return a == compare ? v : a; });
}
#undef JAXKERN_ATOMICS

// Bits and conversions.
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
inline int __clzll(long long x) {
  return x ? __builtin_clzll((unsigned long long)x) : 64;
}
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __brev(unsigned x) {
  x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
  x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
  x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
  return __builtin_bswap32(x);
}
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  uint64_t bytes = uint64_t(y) << 32 | x;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    unsigned s = selector >> (4 * i) & 15;
    unsigned byte = unsigned(bytes >> (8 * (s & 7))) & 255;
    if (s & 8) byte = byte & 128 ? 255 : 0;
    result |= byte << (8 * i);
  }
  return result;
}
inline unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned n) {
  return unsigned((uint64_t(hi) << 32 | lo) << (n & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned n) {
  return unsigned((uint64_t(hi) << 32 | lo) >> (n & 31));
}
inline int __mul24(int a, int b) { return (a << 8 >> 8) * (b << 8 >> 8); }
inline unsigned __umul24(unsigned a, unsigned b) {
  return (a & 0xffffff) * (b & 0xffffff);
}
inline int __mulhi(int a, int b) { return int((int64_t(a) * b) >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) {
  return unsigned((uint64_t(a) * b) >> 32);
}
inline unsigned long long __umul64hi(unsigned long long a,
                                     unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}
inline unsigned __sad(int a, int b, unsigned c) {
  return unsigned(a < b ? b - a : a - b) + c;
}
inline int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 4; ++i)
    c += int((signed char)(a >> (8 * i))) * int((signed char)(b >> (8 * i)));
  return c;
}
inline int __float_as_int(float x) {
  return jaxkern_cpu::FromBits<int>(jaxkern_cpu::ToBits(x));
}
inline unsigned __float_as_uint(float x) { return unsigned(__float_as_int(x)); }
inline float __int_as_float(int x) {
  return jaxkern_cpu::FromBits<float>(jaxkern_cpu::ToBits(x));
}
inline float __uint_as_float(unsigned x) { return __int_as_float(int(x)); }
inline long long __double_as_longlong(double x) {
  return jaxkern_cpu::FromBits<long long>(jaxkern_cpu::ToBits(x));
}
inline double __longlong_as_double(long long x) {
  return jaxkern_cpu::FromBits<double>(jaxkern_cpu::ToBits(x));
}
namespace jaxkern_cpu {
/// Saturates, and maps NaN to 0, as the device's conversions do.
template <class To>
inline To ToInteger(double x) {
  if (x != x) return 0;
  const double low = To(-1) < To(0) ? -double(1ull << (8 * sizeof(To) - 1)) : 0;
  const double high =
      To(-1) < To(0) ? -low : 2.0 * (1ull << (8 * sizeof(To) - 1));
  if (x <= low) return To(low);
  if (x >= high)
    return To(~To(0)) < To(0) ? To(~(To(1) << (8 * sizeof(To) - 1)))
                              : To(~To(0));
  return To(x);
}
}  // namespace jaxkern_cpu
#define JAXKERN_CONVERT(From, from, To, to)              \
  inline To __##from##2##to##_rn(From x) {               \
    return jaxkern_cpu::ToInteger<To>(rint(double(x)));  \
  }                                                      \
  inline To __##from##2##to##_rz(From x) {               \
    return jaxkern_cpu::ToInteger<To>(trunc(double(x))); \
  }                                                      \
  inline To __##from##2##to##_rd(From x) {               \
    return jaxkern_cpu::ToInteger<To>(floor(double(x))); \
  }                                                      \
  inline To __##from##2##to##_ru(From x) {               \
    return jaxkern_cpu::ToInteger<To>(ceil(double(x)));  \
  }
JAXKERN_CONVERT(float, float, int, int)
JAXKERN_CONVERT(float, float, unsigned, uint)
JAXKERN_CONVERT(float, float, long long, ll)
JAXKERN_CONVERT(float, float, unsigned long long, ull)
JAXKERN_CONVERT(double, double, int, int)
JAXKERN_CONVERT(double, double, unsigned, uint)
JAXKERN_CONVERT(double, double, long long, ll)
JAXKERN_CONVERT(double, double, unsigned long long, ull)
#undef JAXKERN_CONVERT
namespace jaxkern_cpu {
/// The float next to x that is not past it: up is 1 above, -1 below, and 0
/// toward zero. x is exact in long double.
inline float ToFloat(long double x, int up) {
  float f = float(x);
  if (up == 0) up = x > 0 ? -1 : 1;
  if (up < 0 && f > x) f = nextafterf(f, -INFINITY);
  if (up > 0 && f < x) f = nextafterf(f, INFINITY);
  return f;
}
}  // namespace jaxkern_cpu
#define JAXKERN_CONVERT(From, from)                             \
  inline float __##from##2float_rn(From x) { return float(x); } \
  inline float __##from##2float_rz(From x) {                    \
    return jaxkern_cpu::ToFloat(x, 0);                          \
  }                                                             \
  inline float __##from##2float_rd(From x) {                    \
    return jaxkern_cpu::ToFloat(x, -1);                         \
  }                                                             \
  inline float __##from##2float_ru(From x) {                    \
    return jaxkern_cpu::ToFloat(x, 1);                          \
  }
JAXKERN_CONVERT(int, int)
JAXKERN_CONVERT(unsigned, uint)
JAXKERN_CONVERT(long long, ll)
JAXKERN_CONVERT(unsigned long long, ull)
JAXKERN_CONVERT(double, double)
#undef JAXKERN_CONVERT
inline double __int2double_rn(int x) { return x; }
inline double __uint2double_rn(unsigned x) { return x; }
inline double __ll2double_rn(long long x) { return double(x); }

namespace jaxkern_cpu {
/// A float that rounds on to 16 bits as the double itself would.
inline float RoundToOdd(double x) {
  float f = float(x);
  if (double(f) == x || x != x) return f;
  const bool away = (x > 0) == (double(f) > x);
  int bits = __float_as_int(f);
  if (away) --bits;  // now toward zero
  return __int_as_float(bits | 1);
}
}  // namespace jaxkern_cpu

template <class T>
JAXKERN_INLINE T __ldg(const T* p) {
  return *p;
}
template <class T>
JAXKERN_INLINE T __ldcs(const T* p) {
  return *p;
}
template <class T>
JAXKERN_INLINE T __ldca(const T* p) {
  return *p;
}
template <class T>
JAXKERN_INLINE T __ldcg(const T* p) {
  return *p;
}
template <class T, class V>
JAXKERN_INLINE void __stcs(T* p, V v) {
  *p = v;
}
template <class T, class V>
JAXKERN_INLINE void __stcg(T* p, V v) {
  *p = v;
}

#undef assert
#define JAXKERN_TEXT(x) #x
#define JAXKERN_STRING(x) JAXKERN_TEXT(x)
#define assert(c)      \
  ((c) ? (void)0       \
       : jaxkern_trap( \
             "assertion failed at line " JAXKERN_STRING(__LINE__) ": " #c))
