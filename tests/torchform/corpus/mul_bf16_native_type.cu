// task: mul_bf16
#include <torch/extension.h>
#include <cuda_bf16.h>

__global__ void mul(const __nv_bfloat16* x, const __nv_bfloat16* z, __nv_bfloat16* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __float2bfloat16(__bfloat162float(x[i]) * __bfloat162float(z[i]));
}

torch::Tensor mul_bf16(torch::Tensor x, torch::Tensor z) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  mul<<<(n + 255) / 256, 256>>>(reinterpret_cast<__nv_bfloat16*>(x.data_ptr<at::BFloat16>()),
                                reinterpret_cast<__nv_bfloat16*>(z.data_ptr()),
                                static_cast<__nv_bfloat16*>(y.data_ptr()), n);
  return y;
}
