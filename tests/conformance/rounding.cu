// expect: 2 4 -2 2 3 -3 3 -3 2 -3 2 3 2 3 0 2147483520 7 2 255 -4 4 1 1 1
// n: 24
// Rounding functions and conversions, with ties and out-of-range values.
#include <cstdint>

__global__ void kernel(const float* x, float* y) {
  float a = x[5] / 2, b = x[7] / 2;  // 2.5 and 3.5
  y[0] = rintf(a);
  y[1] = nearbyintf(b);
  y[2] = rintf(-a);
  y[3] = floorf(a);
  y[4] = ceilf(a);
  y[5] = floorf(-a);
  y[6] = roundf(a);
  y[7] = roundf(-a);
  y[8] = truncf(a);
  y[9] = floor(-a);
  y[10] = __float2int_rn(a);
  y[11] = __float2int_ru(a);
  y[12] = __float2int_rz(a);
  y[13] = __float2int_rd(b);
  y[14] = __float2uint_rz(-b);
  y[15] = __int2float_rz(__float2int_rz(3e9f));
  y[16] = abs(-7);
  y[17] = int(a);
  y[18] = (unsigned char)(255);
  y[19] = min(-4, 3);
  y[20] = max(4u, 3u);
  y[21] = isnan(NAN) && isinf(INFINITY) && !isfinite(INFINITY);
  y[22] = signbit(-a) && copysignf(1.0f, -a) == -1.0f;
  y[23] = fabsf(-1.0f);
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  kernel<<<1, 1, 0, stream>>>(x, y);
  return cudaGetLastError();
}
