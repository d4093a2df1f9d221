// Of <mma.h> the host's half has the types that come with it.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
