// expect: [math.exp(1), math.log(2), math.sqrt(3), math.sin(4), math.cos(5), math.tanh(0.6), math.pow(7, 1.5), math.erf(0.8), 9 ** (1 / 3), math.log1p(10), math.expm1(0.11), math.atan2(12, 5), math.hypot(13, 5), math.log2(14), 2 ** 1.5, math.gamma(4.5), math.asin(0.17), math.sinh(1.8), 19 % 4, 8, 1 / math.sqrt(21), math.log10(22), math.erfc(0.23), math.lgamma(24)]
// rtol: 2e-6
// n: 24
// Single-precision mathematics, in C's names and C++'s.
#include <cmath>
#include <cstdint>

__global__ void kernel(const float* x, float* y) {
  y[0] = expf(x[1]);
  y[1] = logf(x[2]);
  y[2] = sqrtf(x[3]);
  y[3] = sinf(x[4]);
  y[4] = std::cos(x[5]);
  y[5] = tanhf(x[6] / 10);
  y[6] = powf(x[7], 1.5f);
  y[7] = erff(x[8] / 10);
  y[8] = cbrtf(x[9]);
  y[9] = log1pf(x[10]);
  y[10] = expm1f(x[11] / 100);
  y[11] = atan2f(x[12], 5.0f);
  y[12] = hypotf(x[13], 5.0f);
  y[13] = log2f(x[14]);
  y[14] = exp2f(x[15] / 10);
  y[15] = tgammaf(4.5f);
  y[16] = asin(x[17] / 100);
  y[17] = sinh(x[18] / 10);
  y[18] = fmodf(x[19], 4.0f);
  y[19] = fmaxf(fminf(x[20], 8.0f), NAN);
  y[20] = rsqrtf(x[21]);
  y[21] = log10f(x[22]);
  y[22] = erfcf(x[23] / 100);
  y[23] = float(lgamma(24.0));
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  kernel<<<1, 1, 0, stream>>>(x, y);
  return cudaGetLastError();
}
