// In place of the C library's: see cmath.
#pragma once
#include "cuda_runtime.h"
