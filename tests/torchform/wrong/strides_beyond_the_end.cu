// task: relu
// expect: runtime_error
// log: with strides [3000] reaches beyond the tensor's memory
#include <torch/extension.h>
__global__ void relu_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] > 0 ? x[i] : 0;
}
torch::Tensor relu(torch::Tensor x) {
  auto beyond = x.new_zeros({6}).as_strided({3}, {3000});
  auto y = torch::empty_like(x);
  relu_kernel<<<(x.numel() + 127) / 128, 128>>>(
      x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  return y;
}
