// Only in checked builds (-DJAXKERN_CHECK): what the compiler's instrumentation
// calls. -fsanitize=thread makes a call before every access to memory that is
// not a local variable, -fsanitize=signed-integer-overflow,bounds one where
// arithmetic or an index goes wrong. All of them end in the worker's checker,
// with the caller's address, from which the line in the candidate is found.
//
// The definitions are hidden in the candidate's library, so that the worker may
// itself be built with a sanitizer.
#pragma once
#include "checker_abi.h"

namespace jaxkern_cpu {
/// Of an array type, or of a single value.
template <class T>
struct Shape {
  static constexpr int rank = 0;
  static constexpr size_t element = sizeof(T);
  static void Fill(size_t*) {}
  static bool Tell(const volatile void* x) {
    size_t extents[rank + 1];
    Fill(extents);
    return jaxkern_check_shape(x, element, extents, rank);
  }
};
template <class T, size_t N>
struct Shape<T[N]> {
  static constexpr int rank = Shape<T>::rank + 1;
  static constexpr size_t element = Shape<T>::element;
  static void Fill(size_t* extents) {
    *extents = N;
    Shape<T>::Fill(extents + 1);
  }
  static bool Tell(const volatile void* x) {
    size_t extents[rank + 1];
    Fill(extents);
    return jaxkern_check_shape(x, element, extents, rank);
  }
};
}  // namespace jaxkern_cpu

#define JAXKERN_HOOK                                              \
  extern "C" __attribute__((visibility("hidden"), used, noinline, \
                            no_sanitize("thread", "undefined")))
#define JAXKERN_SEEN(p, n, how)                                \
  jaxkern_check_access(p, n, how, __builtin_return_address(0), \
                       __builtin_frame_address(0))

#define JAXKERN_ACCESS(n)                                              \
  JAXKERN_HOOK void __tsan_read##n(void* p) { JAXKERN_SEEN(p, n, 0); } \
  JAXKERN_HOOK void __tsan_write##n(void* p) {                         \
    JAXKERN_SEEN(p, n, JAXKERN_WRITE);                                 \
  }                                                                    \
  JAXKERN_HOOK void __tsan_volatile_read##n(void* p) {                 \
    JAXKERN_SEEN(p, n, JAXKERN_VOLATILE);                              \
  }                                                                    \
  JAXKERN_HOOK void __tsan_volatile_write##n(void* p) {                \
    JAXKERN_SEEN(p, n, JAXKERN_VOLATILE | JAXKERN_WRITE);              \
  }
JAXKERN_ACCESS(1)
JAXKERN_ACCESS(2)
JAXKERN_ACCESS(4)
JAXKERN_ACCESS(8)
JAXKERN_ACCESS(16)
#undef JAXKERN_ACCESS
JAXKERN_HOOK void __tsan_read_range(void* p, unsigned long n) {
  JAXKERN_SEEN(p, n, JAXKERN_UNALIGNED);
}
JAXKERN_HOOK void __tsan_write_range(void* p, unsigned long n) {
  JAXKERN_SEEN(p, n, JAXKERN_UNALIGNED | JAXKERN_WRITE);
}
JAXKERN_HOOK void __tsan_func_entry(void*) {}
JAXKERN_HOOK void __tsan_func_exit() {}
JAXKERN_HOOK void __tsan_vptr_update(void*, void*) {}
JAXKERN_HOOK void __tsan_vptr_read(void*) {}
// Before any other constructor: those may ask for shared memory.
JAXKERN_HOOK __attribute__((constructor(101))) void __tsan_init() {
  jaxkern_check_library((const void*)&__tsan_init);
}

#define JAXKERN_UPDATE(n, T, name, value)                                \
  JAXKERN_HOOK T __tsan_atomic##n##_##name(volatile void* p, T v, int) { \
    JAXKERN_SEEN(p, n / 8, JAXKERN_ATOMIC | JAXKERN_WRITE);              \
    T old = *(volatile T*)p;                                             \
    *(volatile T*)p = T(value);                                          \
    return old;                                                          \
  }
// One OS thread runs all, so plain loads and stores do.
#define JAXKERN_ATOMICS(n, T)                                              \
  JAXKERN_HOOK T __tsan_atomic##n##_load(const volatile void* p, int) {    \
    JAXKERN_SEEN(p, n / 8, JAXKERN_ATOMIC);                                \
    return *(const volatile T*)p;                                          \
  }                                                                        \
  JAXKERN_HOOK void __tsan_atomic##n##_store(volatile void* p, T v, int) { \
    JAXKERN_SEEN(p, n / 8, JAXKERN_ATOMIC | JAXKERN_WRITE);                \
    *(volatile T*)p = v;                                                   \
  }                                                                        \
  JAXKERN_UPDATE(n, T, exchange, v)                                        \
  JAXKERN_UPDATE(n, T, fetch_add, old + v)                                 \
  JAXKERN_UPDATE(n, T, fetch_sub, old - v)                                 \
  JAXKERN_UPDATE(n, T, fetch_and, old& v)                                  \
  JAXKERN_UPDATE(n, T, fetch_or, old | v)                                  \
  JAXKERN_UPDATE(n, T, fetch_xor, old ^ v)                                 \
  JAXKERN_UPDATE(n, T, fetch_nand, ~(old & v))                             \
  JAXKERN_HOOK bool __tsan_atomic##n##_compare_exchange_strong(            \
      volatile void* p, void* expected, T v, int, int) {                   \
    JAXKERN_SEEN(p, n / 8, JAXKERN_ATOMIC | JAXKERN_WRITE);                \
    const T old = *(volatile T*)p;                                         \
    const bool same = old == *(T*)expected;                                \
    if (same)                                                              \
      *(volatile T*)p = v;                                                 \
    else                                                                   \
      *(T*)expected = old;                                                 \
    return same;                                                           \
  }                                                                        \
  JAXKERN_HOOK bool __tsan_atomic##n##_compare_exchange_weak(              \
      volatile void* p, void* expected, T v, int, int) {                   \
    JAXKERN_SEEN(p, n / 8, JAXKERN_ATOMIC | JAXKERN_WRITE);                \
    const T old = *(volatile T*)p;                                         \
    const bool same = old == *(T*)expected;                                \
    if (same)                                                              \
      *(volatile T*)p = v;                                                 \
    else                                                                   \
      *(T*)expected = old;                                                 \
    return same;                                                           \
  }
JAXKERN_ATOMICS(8, uint8_t)
JAXKERN_ATOMICS(16, uint16_t)
JAXKERN_ATOMICS(32, uint32_t)
JAXKERN_ATOMICS(64, uint64_t)
#undef JAXKERN_ATOMICS
#undef JAXKERN_UPDATE
JAXKERN_HOOK void __tsan_atomic_thread_fence(int) { jaxkern_check_fence(); }
JAXKERN_HOOK void __tsan_atomic_signal_fence(int) {}

#define JAXKERN_OVERFLOW(name, operation)                                      \
  JAXKERN_HOOK void __ubsan_handle_##name##_overflow(void* data, void* left,   \
                                                     void* right) {            \
    jaxkern_check_overflow(operation, data, (uintptr_t)left, (uintptr_t)right, \
                           __builtin_return_address(0));                       \
  }
JAXKERN_OVERFLOW(add, " + ")
JAXKERN_OVERFLOW(sub, " - ")
JAXKERN_OVERFLOW(mul, " * ")
JAXKERN_OVERFLOW(divrem, " / ")
#undef JAXKERN_OVERFLOW
JAXKERN_HOOK void __ubsan_handle_negate_overflow(void* data, void* value) {
  jaxkern_check_overflow("-", data, 0, (uintptr_t)value,
                         __builtin_return_address(0));
}
JAXKERN_HOOK void __ubsan_handle_out_of_bounds(void* data, void* index) {
  jaxkern_check_index(data, (uintptr_t)index, __builtin_return_address(0));
}
