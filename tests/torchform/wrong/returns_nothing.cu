// task: relu
// expect: compile_error
// log: returns nothing and does not take the task's outputs: y
#include <torch/extension.h>
__global__ void relu_kernel(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = fmaxf(x[i], 0.0f);
}
void relu(torch::Tensor x) {
  relu_kernel<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), x.numel());
}
