# task: relu
# expect: wrong_answer
# log: elements wrong
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
__global__ void relu_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fabsf(x[i]);
}
torch::Tensor f(torch::Tensor x) {
  auto y = torch::empty_like(x);
  relu_kernel<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  return y;
}
"""

ext = load_inline(
    name="ext",
    cpp_sources="torch::Tensor f(torch::Tensor x);",
    cuda_sources=source,
    functions=["f"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.f(x)
