// task: relu
// expect: extract_error
// log: there is no function on torch::Tensor
#include <torch/extension.h>
__global__ void relu_kernel(float* x, int n) {}
