// expect: [2 * i + 1 for i in range(n)]
// half2: pairs from and to floats, fused multiply-add, halves apart.
#include <cuda_fp16.h>
#include <cstdint>

__global__ void kernel(const float2* x, float* y) {
  int i = threadIdx.x;
  half2 v = __float22half2_rn(x[i]);
  half2 two = __float2half2_rn(2.0f), one = __floats2half2_rn(1.0f, 1.0f);
  half2 r = __hfma2(v, two, one);
  if (i % 2 == 0) {
    float2 f = __half22float2(r);
    y[2 * i] = f.x;
    y[2 * i + 1] = f.y;
  } else {
    r = __halves2half2(__low2half(r), __high2half(r));
    y[2 * i] = __low2float(__hadd2(r, __half2half2(__float2half(0.0f))));
    y[2 * i + 1] = __half2float(r.y);
  }
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  kernel<<<1, (unsigned)n / 2, 0, stream>>>((const float2*)x, y);
  return cudaGetLastError();
}
