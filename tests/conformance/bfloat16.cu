// expect: [i * 0.5 - 1 for i in range(60)] + [256, 258, 1, 3]
// bfloat16: 8 bits of precision, ties to even; arithmetic and comparisons.
#include <cuda_bf16.h>
#include <cstdint>

__global__ void kernel(const float* x, float* y) {
  int i = threadIdx.x;
  __nv_bfloat16 b = __float2bfloat16(x[i]);
  b = b * __float2bfloat16(0.5f) - __float2bfloat16(1.0f);
  if (i < 60) y[i] = __bfloat162float(b);
  if (i > 0) return;
  y[60] = __bfloat162float(__float2bfloat16(257.0f));
  y[61] = __bfloat162float(__float2bfloat16_rn(257.5f));
  y[62] = __hlt(b, __float2bfloat16(0.0f)) ? 1.0f : 0.0f;
  __nv_bfloat162 p = __floats2bfloat162_rn(1.0f, 2.0f);
  y[63] = __low2float(p) + __bfloat162float(p.y);
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  kernel<<<1, 64, 0, stream>>>(x, y);
  return cudaGetLastError();
}
