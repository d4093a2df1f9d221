// task: scale_bf16
#include <ATen/ATen.h>
#include <ATen/AccumulateType.h>
#include <ATen/Dispatch.h>
#include <torch/extension.h>

template <typename scalar_t, typename acc_t>
__global__ void scale_kernel(const scalar_t* x, scalar_t* y, acc_t a, int64_t n) {
  const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i < n) y[i] = static_cast<scalar_t>(static_cast<acc_t>(x[i]) * a);
}

at::Tensor scale(const at::Tensor& input, double a) {
  auto output = at::empty_like(input);
  const int64_t n = input.numel();
  AT_DISPATCH_FLOATING_TYPES_AND2(
      at::ScalarType::Half, at::ScalarType::BFloat16, input.scalar_type(), "scale", [&] {
        using acc_t = at::acc_type<scalar_t, /*is_cuda=*/true>;
        scale_kernel<scalar_t, acc_t><<<(n + 127) / 128, 128>>>(
            input.data_ptr<scalar_t>(), output.data_ptr<scalar_t>(), static_cast<acc_t>(a), n);
      });
  return output;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("scale", &scale); }
