// task: relu_f16
#include <torch/extension.h>
#include <cuda_fp16.h>

__global__ void relu_half_kernel(const __half* __restrict__ x, __half* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    const float v = __half2float(x[i]);
    y[i] = __float2half(v > 0.0f ? v : 0.0f);
  }
}

torch::Tensor relu_half(torch::Tensor x) {
  TORCH_CHECK(x.scalar_type() == at::ScalarType::Half, "expected half");
  auto y = torch::empty_like(x);
  const int n = x.numel();
  relu_half_kernel<<<(n + 255) / 256, 256>>>(
      reinterpret_cast<const __half*>(x.data_ptr<at::Half>()),
      reinterpret_cast<__half*>(y.data_ptr<at::Half>()), n);
  return y;
}
