// What nvcc defines and the words that CUDA adds to C++.
#pragma once

#define __CUDACC__ 1
#define __CUDA_ARCH__ 900
#define __NVCC__ 1
#define CUDA_VERSION 13000
#define CUDART_VERSION 13000
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0

#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __inline_hint__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#define __restrict __restrict__
// Found once per OS thread that runs blocks; checked builds have one, and what
// is thread-local there is shared memory.
#ifdef JAXKERN_CHECK
#define JAXKERN_PER_RUNNER static
#define JAXKERN_SHAPE(x) ::jaxkern_cpu::Shape<decltype(x)>::Tell(&x);
#define JAXKERN_GLOBAL_SHAPE(x)         \
  static const bool jaxkern_shape_##x = \
      ::jaxkern_cpu::Shape<decltype(x)>::Tell(&x);
#else
#define JAXKERN_PER_RUNNER static thread_local
#define JAXKERN_SHAPE(x)
#define JAXKERN_GLOBAL_SHAPE(x)
#endif
// `__shared__` and `__noinline__` are rewritten: see rewrite.h.
