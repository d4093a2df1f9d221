# task: relu
# expect: compile_error
# log: kernel.cu:12:
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
__global__ void relu_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
}
torch::Tensor f(torch::Tensor x) { return x; }
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
