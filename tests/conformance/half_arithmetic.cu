// expect: [i * 0.25 + 1.5 for i in range(31)] + [2048, 65504, -0.5, 1, math.inf, 3, 6.103515625e-05, 1]
// n: 39
// half: conversions round to nearest even, arithmetic rounds once.
#include <cuda_fp16.h>
#include <cstdint>

__global__ void kernel(const float* x, float* y) {
  int i = threadIdx.x;
  __half h = __float2half(x[i]);
  h = __hadd(__hmul(h, __float2half(0.25f)), __float2half_rn(1.5f));
  if (i < 31) y[i] = __half2float(h);
  if (i > 0) return;
  half a = __float2half(2049.0f), b = __ushort_as_half(0x7bff);
  y[31] = __half2float(a);
  y[32] = __half2float(b);
  y[33] = __half2float(__hneg(__float2half(0.5f)));
  y[34] = __hgt(a, __float2half(1.0f)) && a < b && !__hisnan(a) ? 1.0f : 0.0f;
  y[35] = __half2float(b * __float2half(2.0f));
  y[36] = __half2float(__hfma(__float2half(2.0f), __float2half(0.5f),
                              __float2half(2.0f)));
  y[37] = __half2float(__ushort_as_half(0x0400));
  y[38] = float(__half_as_ushort(half(1.0f)) == 0x3c00);
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  kernel<<<1, 32, 0, stream>>>(x, y);
  return cudaGetLastError();
}
