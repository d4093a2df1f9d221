# task: relu
# expect: unsupported
# log: cuda_sources holds an f-string (line 8)
import torch
from torch.utils.cpp_extension import load_inline

BLOCK = 256
source = f"""
#include <torch/extension.h>
torch::Tensor relu(torch::Tensor x) {{ return x; }}
"""
ext = load_inline(name="ext", cpp_sources="", cuda_sources=source, functions=["relu"])
