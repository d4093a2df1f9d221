// task: relu
// expect: wrong_answer
// log: relu returned a tensor of type Double as y, expected Float
#include <torch/extension.h>
__global__ void relu_kernel(const float* x, double* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] > 0 ? x[i] : 0;
}
torch::Tensor relu(torch::Tensor x) {
  auto y = torch::empty(x.sizes(), x.options().dtype(torch::kFloat64));
  relu_kernel<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<double>(), x.numel());
  return y;
}
