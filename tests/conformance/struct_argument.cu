// expect: [i * 2 + (i % 4) * 100 for i in range(n)]
// Structures by value, operators, constexpr and recursion in device code.
#include <cstdint>

struct alignas(8) Shape {
  int rows, columns;
  __host__ __device__ constexpr int at(int r, int c) const {
    return r * columns + c;
  }
};
struct Complex {
  float re, im;
};
__device__ inline Complex operator+(Complex a, Complex b) {
  return {a.re + b.re, a.im + b.im};
}
__device__ int digits(int v, int steps) {
  return steps == 0 ? v : digits(v, steps - 1) + 100;
}
__global__ void kernel(const float* x, float* y, const Shape shape) {
  int i = shape.at(threadIdx.y, threadIdx.x);
  Complex v = Complex{x[i], 0} + Complex{x[i], float(digits(0, i % 4))};
  y[i] = v.re + v.im;
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  constexpr Shape shape{8, 8};
  kernel<<<1, dim3(shape.columns, shape.rows), 0, stream>>>(x, y, shape);
  return cudaGetLastError();
}
