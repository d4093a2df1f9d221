// <cuda_pipeline.h> for NVRTC. For it alone CUDA's header defines names of
// <stdint.h>, and not as the host has them: here it gets others to define.
#include "stdint.h"

#define uint16_t jaxkern_uint16_t
#define uint32_t jaxkern_uint32_t
#define uint64_t jaxkern_uint64_t
#define uintptr_t jaxkern_uintptr_t
#include_next <cuda_pipeline.h>
#undef uint16_t
#undef uint32_t
#undef uint64_t
#undef uintptr_t
