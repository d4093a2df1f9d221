// expect: [i + 32 if i % 2 else -i + 4 for i in range(n)]
// Explicit and nested template arguments before the launch.
#include <cstdint>

template <typename T, int N>
struct Constant {
  static constexpr T value = N;
};

template <typename C, bool kOdd>
__global__ void half_of(const float* x, float* y) {
  int i = 2 * threadIdx.x + kOdd;
  y[i] = (kOdd ? x[i] : -x[i]) + C::value;
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  half_of<Constant<float, (8 > 4) ? 32 : 1>, true><<<1, 32, 0, stream>>>(x, y);
  half_of<Constant<int, 4>, false>
      <<<1, 32, 0, stream>>>(x, y);
  return cudaGetLastError();
}
