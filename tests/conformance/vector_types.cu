// expect: [2 * i + (0 if i % 4 == 0 else 3 if i % 4 == 1 else 250 if i % 4 == 2 else 9) for i in range(n)]
// float4 loads and stores, and other vector types.
#include <cstdint>

__global__ void kernel(const float4* x, float4* y) {
  float4 v = __ldg(&x[threadIdx.x]);
  int2 pair = make_int2(1, 2);
  uchar4 bytes = make_uchar4(250, 251, 252, 253);
  double2 wide{4.0, 5.0};
  static_assert(sizeof(float3) == 12 && alignof(float4) == 16, "as on a GPU");
  v.x *= 2, v.y *= 2, v.z *= 2, v.w *= 2;
  v.y += pair.x + pair.y;
  v.z += bytes.x;
  v.w += float(wide.x + wide.y);
  y[threadIdx.x] = make_float4(v.x, v.y, v.z, v.w);
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  kernel<<<1, (unsigned)(n / 4), 0, stream>>>(
      reinterpret_cast<const float4*>(x), (float4*)y);
  return cudaGetLastError();
}
