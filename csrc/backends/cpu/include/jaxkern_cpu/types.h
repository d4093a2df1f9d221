// Vector types and dim3.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

// The types CUDA code uses without a header.
typedef unsigned int uint;
typedef unsigned short ushort;
typedef unsigned char uchar;
typedef unsigned long ulong;

#define JAXKERN_VECTORS(T, N, A2, A4)                          \
  struct N##1 { T x; };                                        \
  struct __attribute__((aligned(A2))) N##2 { T x, y; };        \
  struct N##3 { T x, y, z; };                                  \
  struct __attribute__((aligned(A4))) N##4 { T x, y, z, w; };  \
  inline N##1 make_##N##1(T x) { return {x}; }                 \
  inline N##2 make_##N##2(T x, T y) { return {x, y}; }         \
  inline N##3 make_##N##3(T x, T y, T z) { return {x, y, z}; } \
  inline N##4 make_##N##4(T x, T y, T z, T w) { return {x, y, z, w}; }

JAXKERN_VECTORS(signed char, char, 2, 4)
JAXKERN_VECTORS(unsigned char, uchar, 2, 4)
JAXKERN_VECTORS(short, short, 4, 8)
JAXKERN_VECTORS(unsigned short, ushort, 4, 8)
JAXKERN_VECTORS(int, int, 8, 16)
JAXKERN_VECTORS(unsigned int, uint, 8, 16)
JAXKERN_VECTORS(long, long, 16, 16)
JAXKERN_VECTORS(unsigned long, ulong, 16, 16)
JAXKERN_VECTORS(long long, longlong, 16, 16)
JAXKERN_VECTORS(unsigned long long, ulonglong, 16, 16)
JAXKERN_VECTORS(float, float, 8, 16)
JAXKERN_VECTORS(double, double, 16, 16)
#undef JAXKERN_VECTORS

struct dim3 {
  unsigned int x, y, z;
  constexpr dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1)
      : x(x), y(y), z(z) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};

namespace jaxkern_cpu {
template <class A, class B>
struct Same {
  static constexpr bool value = false;
};
template <class A>
struct Same<A, A> {
  static constexpr bool value = true;
};
template <bool C, class T = void>
struct If {};
template <class T>
struct If<true, T> {
  typedef T type;
};
/// T when it is F; otherwise the overload does not exist.
template <class T, class F>
using Only = typename If<Same<T, F>::value, T>::type;
}  // namespace jaxkern_cpu
