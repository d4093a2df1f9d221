// Device assertions are declared already; see jaxkern_cpu/device.h.
#pragma once
#include "cuda_runtime.h"
