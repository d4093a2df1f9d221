/// Turns CUDA C++ into C++ for the shim headers.
#ifndef JAXKERN_BACKENDS_CPU_REWRITE_H_
#define JAXKERN_BACKENDS_CPU_REWRITE_H_

#include <string>

namespace jaxkern {

/// Rewrites, with every line kept where it is:
///   K<<<grid, block, shared, stream>>>(args)   to a call that launches K
///   __shared__ T x                             to a thread_local of the block,
///                                              and its shape for the checker
///   extern __shared__ T x[]                    to a pointer
///   __noinline__                               to an attribute; as a macro it
///                                              would break the C++ library
/// What is not well formed is left to the compiler to complain about.
std::string RewriteCuda(const std::string& source);

}  // namespace jaxkern

#endif  // JAXKERN_BACKENDS_CPU_REWRITE_H_
