/// A candidate in torch's form that `launch(int*, n, stream)` calls without a
/// GPU, in place of the evaluator's entry.
#ifndef JAXKERN_TESTS_CUDA_TORCH_SAMPLE_H_
#define JAXKERN_TESTS_CUDA_TORCH_SAMPLE_H_

inline constexpr char kTorchForm[] = R"(
#include <torch/extension.h>
#define CHECK_INPUT(x) TORCH_CHECK(x.is_cuda(), #x " must be on the GPU")
template <typename scalar_t>
__global__ void relu_kernel(const scalar_t* x, scalar_t* y, int64_t n) {
  y[n] = x[n] > scalar_t(0) ? x[n] : scalar_t(0);
}
__global__ void first(torch::PackedTensorAccessor32<float, 2> x, float* y) {
  *y = x[0][1];
}
torch::Tensor relu(torch::Tensor x) {
  CHECK_INPUT(x);
  auto y = torch::empty_like(x);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "relu", ([&] {
    relu_kernel<scalar_t><<<1, 64>>>(x.data_ptr<scalar_t>(),
                                     y.data_ptr<scalar_t>(), x.numel());
  }));
  first<<<1, 1>>>(x.packed_accessor32<float, 2>(), y.data_ptr<float>());
  return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("relu", &relu); }
#include <jaxkern_torch/call.h>
extern "C" int launch(int* out, int n, cudaStream_t stream) {
  int64_t sizes[2] = {1, n};
  auto* storage = new c10::detail::Storage;
  storage->data = out;
  storage->references = 1;
  c10::detail::call.stream = stream;
  auto x = torch::Tensor::Over(storage, torch::kFloat, {sizes, 2});
  c10::detail::call.outputs[0] = {out, torch::kFloat, n, -1, nullptr};
  c10::detail::call.output_count = 1;
  c10::detail::call.open = true;
  relu(x);
  return 0;
})";

#endif  // JAXKERN_TESTS_CUDA_TORCH_SAMPLE_H_
