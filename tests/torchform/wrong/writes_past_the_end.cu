// task: relu
// expect: runtime_error
// log: past the end of y
#include <torch/extension.h>
__global__ void relu_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) y[i] = i < n ? fmaxf(x[i], 0.0f) : 1.0f;
}
torch::Tensor relu(torch::Tensor x) {
  auto y = torch::empty_like(x);
  relu_kernel<<<x.numel() / 256 + 1, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  return y;
}
