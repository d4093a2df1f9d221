# task: relu
# expect: extract_error
# log: load_inline (line 11) names no functions
import torch
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
torch::Tensor relu(torch::Tensor x) { return x; }
"""
ext = load_inline(name="ext", cpp_sources="", cuda_sources=source)
