# task: bias_relu
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

bias_relu_source = '''
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void bias_relu_kernel(
    const float* __restrict__ x,
    const float* __restrict__ bias,
    float* __restrict__ out,
    const int rows,
    const int cols)
{
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y;
    if (col < cols && row < rows) {
        const float v = x[row * cols + col] + __ldg(&bias[col]);
        out[row * cols + col] = fmaxf(v, 0.f);
    }
}

torch::Tensor bias_relu(torch::Tensor x, torch::Tensor bias) {
    TORCH_CHECK(x.dim() == 2, "x must be 2D, got ", x.dim(), "D");
    TORCH_CHECK(bias.dim() == 1 && bias.size(0) == x.size(-1), "bias does not fit");
    const int rows = x.size(0);
    const int cols = x.size(1);
    auto out = torch::empty({rows, cols}, x.options());
    const dim3 threads(128);
    const dim3 blocks((cols + threads.x - 1) / threads.x, rows);
    bias_relu_kernel<<<blocks, threads>>>(
        x.data_ptr<float>(), bias.data_ptr<float>(), out.data_ptr<float>(), rows, cols);
    return out;
}
'''

bias_relu_cpp = '''
torch::Tensor bias_relu(torch::Tensor x, torch::Tensor bias);
'''

ext = load_inline(name='bias_relu_ext', cpp_sources=bias_relu_cpp, cuda_sources=bias_relu_source,
                  functions=['bias_relu'], extra_cuda_cflags=['-O3', '--use_fast_math'], verbose=False)


class ModelNew(nn.Module):
    def __init__(self, features):
        super(ModelNew, self).__init__()
        self.bias = nn.Parameter(torch.zeros(features))

    def forward(self, x):
        return ext.bias_relu(x.contiguous(), self.bias.contiguous())
