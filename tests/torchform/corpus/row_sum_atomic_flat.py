# task: row_sum_int32
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

kernel_code = '''
#include <torch/extension.h>

__global__ void accumulate(const int* x, int* y, long total, long cols) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < total) atomicAdd(y + i / cols, x[i]);
}
'''

wrapper_code = '''
torch::Tensor row_sum(torch::Tensor x) {
    auto flat = x.view({-1});
    auto y = torch::zeros({x.size(0), 1}, x.options().dtype(torch::kInt32));
    accumulate<<<(flat.numel() + 255) / 256, 256>>>(
        flat.data_ptr<int>(), y.data_ptr<int>(), flat.numel(), x.stride(0));
    return y.squeeze(1);
}
'''

mod = load_inline(
    name='row_sum_int',
    cpp_sources='torch::Tensor row_sum(torch::Tensor x);',
    cuda_sources=kernel_code + wrapper_code,
    functions=['row_sum'],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return mod.row_sum(x)
