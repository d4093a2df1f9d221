// expect: [(2 * i + 5) * 4 for i in range(n)]
// Launches in templates, namespaces and methods.
#include <cstdint>

namespace a {
namespace {
template <class F>
__global__ void apply(const float* x, float* y, F f) {
  y[threadIdx.x] = f(x[threadIdx.x]);
}
}  // namespace
struct Affine {
  float scale, bias;
  __device__ float operator()(float v) const { return scale * v + bias; }
};
template <class F>
void Run(const float* x, float* y, F f, cudaStream_t s) {
  a::apply<F><<<dim3(1), dim3(64), size_t(0), s>>>(x, y, f);
}
}  // namespace a

struct Runner {
  cudaStream_t stream;
  void operator()(float* y) const {
    ::a::apply<<<1, 64, 0, stream>>>(y, y, a::Affine{4, 0});
  }
};

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  a::Run(x, y, a::Affine{2.0f, 5.0f}, stream);
  Runner{stream}(y);
  return cudaGetLastError();
}
