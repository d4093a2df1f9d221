// CUDA C++ for a host compiler. Force-included before every candidate, as nvcc
// does with its own; no C++ standard header is pulled in, so that a candidate
// which includes none compiles in a fraction of a second.
#pragma once
// Each needs those before it.
// clang-format off
#include "jaxkern_cpu/qualifiers.h"
#include "jaxkern_cpu/types.h"
#include "jaxkern_cpu/math.h"
#include "jaxkern_cpu/device.h"
#include "jaxkern_cpu/host.h"
#ifdef JAXKERN_CHECK
#include "jaxkern_cpu/checker.h"
#endif
// clang-format on
