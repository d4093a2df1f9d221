# task: row_sum
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = r"""
#include <torch/extension.h>

template <int BLOCK>
__global__ void row_sum_kernel(const float* __restrict__ x, float* __restrict__ y, int cols) {
    __shared__ float sdata[BLOCK];
    const int row = blockIdx.x;
    const int tid = threadIdx.x;
    float acc = 0.0f;
    for (int c = tid; c < cols; c += BLOCK) {
        acc += x[(size_t)row * cols + c];
    }
    sdata[tid] = acc;
    __syncthreads();
    #pragma unroll
    for (int s = BLOCK / 2; s > 0; s >>= 1) {
        if (tid < s) sdata[tid] += sdata[tid + s];
        __syncthreads();
    }
    if (tid == 0) y[row] = sdata[0];
}

torch::Tensor row_sum(torch::Tensor x, int64_t dim) {
    TORCH_CHECK(dim == 1 || dim == -1, "only the last dimension, got ", dim);
    auto rows = x.size(0), cols = x.size(1);
    auto y = torch::zeros({rows}, torch::TensorOptions().dtype(x.dtype()).device(x.device()));
    row_sum_kernel<256><<<rows, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), cols);
    return y;
}
"""

CPP_SRC = "torch::Tensor row_sum(torch::Tensor x, int64_t dim);"

_ext = load_inline(
    name="row_sum_ext",
    cpp_sources=[CPP_SRC],
    cuda_sources=[CUDA_SRC],
    functions=["row_sum"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.dim = 1

    def forward(self, x):
        return _ext.row_sum(x, self.dim)
