// What the worker exports to checked candidates; see checker.h.
#pragma once
#include "runtime_abi.h"

extern "C" {
enum {
  JAXKERN_WRITE = 1,
  JAXKERN_ATOMIC = 2,
  JAXKERN_VOLATILE = 4,
  JAXKERN_UNALIGNED = 8
};
/// Before an access. `frame` tells the thread's own stack from other memory.
JAXKERN_EXPORT void jaxkern_check_access(const volatile void* address,
                                         size_t bytes, int how,
                                         const void* caller, const void* frame);
/// A memory fence by the running thread.
JAXKERN_EXPORT void jaxkern_check_fence();
/// Turns the checker on for the library that holds `inside`.
JAXKERN_EXPORT void jaxkern_check_library(const void* inside);
/// Names a buffer that `launch` is about to be given.
JAXKERN_EXPORT void jaxkern_check_argument(const void* buffer, const char* name,
                                           size_t element, bool input);
/// The extents of a shared array, outermost first; true.
JAXKERN_EXPORT bool jaxkern_check_shape(const volatile void* array,
                                        size_t element, const size_t* extents,
                                        int rank);
/// Arithmetic that overflowed, or an index outside an array; `data` is what the
/// compiler describes it with.
JAXKERN_EXPORT void jaxkern_check_overflow(const char* operation,
                                           const void* data, uintptr_t left,
                                           uintptr_t right, const void* caller);
JAXKERN_EXPORT void jaxkern_check_index(const void* data, uintptr_t index,
                                        const void* caller);
}
