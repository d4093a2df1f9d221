// task: gated_silu
// The output comes from the caller and is returned, too.
#include <torch/extension.h>

__global__ void gate(const float* x, const float* z, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] / (1.0f + expf(-x[i])) * z[i];
}

torch::Tensor& gated_silu(const torch::Tensor& x, const torch::Tensor& gate_values, torch::Tensor& out) {
  const int n = x.numel();
  gate<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), gate_values.data_ptr<float>(),
                                 out.data_ptr<float>(), n);
  return out;
}
