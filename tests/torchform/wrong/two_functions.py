# task: add_relu
# expect: unsupported
# log: Python calls add and relu
import torch
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
torch::Tensor add(torch::Tensor a, torch::Tensor b) { return a; }
torch::Tensor relu(torch::Tensor x) { return x; }
"""
ext = load_inline(name="ext", cpp_sources="", cuda_sources=source, functions=["add", "relu"])


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return ext.relu(ext.add(a, b))
