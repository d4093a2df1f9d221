# task: relu
# expect: unsupported
# log: a string changed by .replace() (line 11)
import torch
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
torch::Tensor relu(torch::Tensor x) { return x; }
"""
ready = source.replace("relu", "f")
ext = load_inline(name="ext", cpp_sources="", cuda_sources=ready, functions=["f"])
