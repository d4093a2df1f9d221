// expect: [i * i + 7 for i in range(n)]
// Launches written by macros, one of them over several lines.
#include <cstdint>

#define LAUNCH(kernel, ...) kernel<<<1, 64, 0, stream>>>(__VA_ARGS__)
#define CASE(kBias)                                      \
  case kBias:                                            \
    add<kBias><<<1, 64, 0, stream>>>(/* in place */ y); \
    break;

__global__ void square(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x] * x[threadIdx.x];
}
template <int kBias>
__global__ void add(float* y) {
  y[threadIdx.x] += kBias;
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  LAUNCH(square, x, y);
  switch (int(n / 64) + 6) {
    CASE(6)
    CASE(7)
  }
  return cudaGetLastError();
}
