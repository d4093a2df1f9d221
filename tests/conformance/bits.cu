// expect: 8 31 5 8 1 40 52 1 255 2 20 16 6 1 5 30 1065353216 1 8192 9
// n: 20
// Bit intrinsics and integer arithmetic.
#include <cstdint>

__global__ void kernel(const float* x, float* y) {
  int v = (int)x[1];
  y[0] = __popc(0x0f0f0000u | (v - 1));
  y[1] = __clz(v);
  y[2] = __ffs(v << 4);
  y[3] = __popcll(0xff0000000000ull);
  y[4] = __brev(0x80000000u);
  y[5] = __ffsll(1ll << 39);
  y[6] = __clzll(2048ll);
  y[7] = __byte_perm(0x03020100u, 0x07060504u, 0x3210u) == 0x03020100u;
  y[8] = __byte_perm(0x000000ffu, 0u, 0x4440u);
  y[9] = __mulhi(1 << 30, 8);
  y[10] = __mul24(4, 5);
  y[11] = __umulhi(1u << 31, 32u);
  y[12] = __sad(3, 7, 2u);
  y[13] = __funnelshift_l(0x80000000u, 0u, 1);
  y[14] = __funnelshift_r(0x50u, 0u, 4);
  y[15] = __dp4a(0x01020304, 0x01020304, 0);
  y[16] = __float_as_int(1.0f);
  y[17] = __int_as_float(0x3f800000);
  y[18] = float(__umul64hi(1ull << 63, 1ull << 14));
  y[19] = float(__double_as_longlong(9.0) == 0x4022000000000000ll ? 9 : 0);
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  kernel<<<1, 1, 0, stream>>>(x, y);
  return cudaGetLastError();
}
