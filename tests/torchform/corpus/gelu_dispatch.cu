// task: gelu
#include <torch/extension.h>
#include <cuda.h>
#include <cuda_runtime.h>
#include <cmath>

#define CHECK_CUDA(x) TORCH_CHECK(x.device().is_cuda(), #x " must be a CUDA tensor")
#define CHECK_CONTIGUOUS(x) TORCH_CHECK(x.is_contiguous(), #x " must be contiguous")
#define CHECK_INPUT(x) \
  CHECK_CUDA(x);       \
  CHECK_CONTIGUOUS(x)

template <typename scalar_t>
__global__ void gelu_kernel(const scalar_t* __restrict__ input,
                            scalar_t* __restrict__ output, size_t size) {
  const size_t index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index < size) {
    const scalar_t v = input[index];
    const scalar_t k = 0.7978845608028654;
    output[index] = scalar_t(0.5) * v * (scalar_t(1) + tanh(k * (v + scalar_t(0.044715) * v * v * v)));
  }
}

torch::Tensor gelu_forward(torch::Tensor input) {
  CHECK_INPUT(input);
  auto output = torch::empty_like(input);
  const int threads = 512;
  const int blocks = (input.numel() + threads - 1) / threads;
  AT_DISPATCH_FLOATING_TYPES(input.scalar_type(), "gelu_forward", ([&] {
    gelu_kernel<scalar_t><<<blocks, threads>>>(
        input.data_ptr<scalar_t>(), output.data_ptr<scalar_t>(), input.numel());
  }));
  return output;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("forward", &gelu_forward, "GELU forward (CUDA)");
}
