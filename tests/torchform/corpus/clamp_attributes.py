# task: clamp
"""Bounds are arguments of the module, in another order than the task's."""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

__global__ void hardclip(const float* x, float* y, float top, float bottom, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = fminf(fmaxf(x[i], bottom), top);
}

torch::Tensor clip(torch::Tensor x, double top, double bottom) {
    auto y = torch::empty(x.sizes(), x.options());
    int n = static_cast<int>(x.size(0));
    hardclip<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(),
                                       static_cast<float>(top), static_cast<float>(bottom), n);
    return y;
}
"""

clip = load_inline(
    name="clip",
    cpp_sources="torch::Tensor clip(torch::Tensor x, double top = 1.0, double bottom = 0.0);",
    cuda_sources=source,
    functions=["clip"],
)


class ModelNew(nn.Module):
    def __init__(self, lo, hi):
        super().__init__()
        self.lo, self.hi = lo, hi

    def forward(self, x):
        return clip.clip(x, self.hi, self.lo)
