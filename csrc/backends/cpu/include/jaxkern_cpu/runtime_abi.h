// What the worker executable exports to candidates. Shared by the shim headers
// and the runtime, so that the two cannot drift apart.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "types.h"

#define JAXKERN_EXPORT __attribute__((visibility("default")))
/// For what touches a kernel's memory in its name: the checker then names the
/// line in the candidate.
#define JAXKERN_INLINE inline __attribute__((always_inline))
#define JAXKERN_TLS \
  extern __thread JAXKERN_EXPORT __attribute__((tls_model("initial-exec")))

extern "C" {
/// Of the CUDA thread that runs now on this OS thread.
JAXKERN_TLS uint3 threadIdx;
JAXKERN_TLS uint3 blockIdx;
JAXKERN_TLS dim3 blockDim;
JAXKERN_TLS dim3 gridDim;

/// While threadIdx.x + 1 is less, the next CUDA thread is the next in x and
/// nothing else has to be done: no thread of the block has met a barrier.
JAXKERN_TLS unsigned jaxkern_row_end;

/// Runs CUDA threads of the current block until jaxkern_next says stop.
typedef void (*jaxkern_threads)(const void* kernel);

JAXKERN_EXPORT void jaxkern_launch(dim3 grid, dim3 block, size_t shared,
                                   jaxkern_threads threads, const void* kernel);
/// Ends the running CUDA thread; true when this fiber shall run another one,
/// whose threadIdx is then set.
JAXKERN_EXPORT bool jaxkern_next();

enum { JAXKERN_COUNT, JAXKERN_AND, JAXKERN_OR };
/// Barrier of the block; the combined predicates of all threads.
JAXKERN_EXPORT int jaxkern_syncthreads(int predicate, int how, int line);
/// Barrier of the live lanes in `mask`.
JAXKERN_EXPORT void jaxkern_syncwarp(unsigned mask, int line);
/// The value that `source` brought to the same call; one's own if that lane
/// takes no part.
JAXKERN_EXPORT uint64_t jaxkern_shuffle(unsigned mask, uint64_t value,
                                        int source, int line);
/// Values of all participating lanes; returns who they are.
JAXKERN_EXPORT unsigned jaxkern_gather(unsigned mask, uint64_t value,
                                       uint64_t values[32], int line);
JAXKERN_EXPORT unsigned jaxkern_lane();
JAXKERN_EXPORT long jaxkern_clock();
/// Lanes of this warp that wait at the same line when nothing else can run.
JAXKERN_EXPORT unsigned jaxkern_activemask(int line);
/// `name` is the candidate's for it, `element` the size of one.
JAXKERN_EXPORT void* jaxkern_dynamic_shared(const char* name, size_t element);
JAXKERN_EXPORT size_t jaxkern_dynamic_shared_size();
JAXKERN_EXPORT void jaxkern_trap(const char* message) __attribute__((noreturn));
}
