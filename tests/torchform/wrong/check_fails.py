# task: relu
# expect: runtime_error
# log: uncaught exception in launch: x must have 3 dims, got 1
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
torch::Tensor f(torch::Tensor x) {
  TORCH_CHECK(x.dim() == 3, "x must have ", 3, " dims, got ", x.dim());
  return x;
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
