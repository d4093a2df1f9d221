# task: relu
# expect: cheating
# log: line 10: #include <dlfcn.h>
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
#include <dlfcn.h>
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
