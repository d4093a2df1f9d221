// task: tanh_add
// Keeps a workspace between calls that looks like the output.
#include <torch/extension.h>

__global__ void tanh_kernel(const float* x, float* t, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) t[i] = tanhf(x[i]);
}
__global__ void add_kernel(const float* t, const float* z, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = t[i] + z[i];
}

torch::Tensor tanh_add(torch::Tensor x, torch::Tensor z) {
  static torch::Tensor workspace;
  if (!workspace.defined() || workspace.numel() < x.numel()) workspace = torch::empty_like(x);
  auto y = torch::empty_like(x);
  int n = x.numel();
  tanh_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), workspace.data_ptr<float>(), n);
  add_kernel<<<(n + 255) / 256, 256>>>(workspace.data_ptr<float>(), z.data_ptr<float>(),
                                       y.data_ptr<float>(), n);
  return y;
}
