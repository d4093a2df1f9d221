// expect: [math.exp(0.1), math.log(2), math.sin(0.3), math.cos(0.4), 5 ** 1.2, 6 / 7, 7 * 8 + 9, 1 / 8, 3, 10 ** 0.5, 1, 0, math.log2(12), 0.5, 14 / 3, math.log10(15)]
// rtol: 1e-5
// n: 16
// Fast intrinsics and those that name their rounding.
#include <cstdint>

__global__ void kernel(const float* x, float* y) {
  y[0] = __expf(x[1] / 10);
  y[1] = __logf(x[2]);
  y[2] = __sinf(x[3] / 10);
  y[3] = __cosf(x[4] / 10);
  y[4] = __powf(x[5], 1.2f);
  y[5] = __fdividef(x[6], 7.0f);
  y[6] = __fmaf_rn(x[7], 8.0f, 9.0f);
  y[7] = __frcp_rn(x[8]);
  y[8] = __fsqrt_rn(x[9]);
  y[9] = __exp10f(0.5f);
  y[10] = __saturatef(x[11]);
  y[11] = __saturatef(-x[12]);
  y[12] = __log2f(x[12]);
  y[13] = float(__dmul_rn(0.25, __dadd_rn(1.0, 1.0)));
  y[14] = __fdiv_rn(__fadd_rn(x[13], 1.0f), 3.0f);
  y[15] = __log10f(__fmul_rn(x[5], 3.0f));
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  kernel<<<1, 1, 0, stream>>>(x, y);
  return cudaGetLastError();
}
