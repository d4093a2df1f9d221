// task: relu
// expect: launch_error
// log: launch returned cudaErrorInvalid
#include <torch/extension.h>
__global__ void relu_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
}
torch::Tensor relu(torch::Tensor x) {
  auto y = torch::zeros_like(x);
  relu_kernel<<<1, 4096>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  return y;
}
