# task: row_mean
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void partial_sums(const float* x, float* partial, int cols, int parts) {
    int row = blockIdx.y;
    int part = blockIdx.x;
    int begin = (long)cols * part / parts;
    int end = (long)cols * (part + 1) / parts;
    float acc = 0.f;
    for (int c = begin + threadIdx.x; c < end; c += blockDim.x) acc += x[row * cols + c];
    for (int o = 16; o > 0; o >>= 1) acc += __shfl_xor_sync(0xffffffffu, acc, o);
    if (threadIdx.x == 0) partial[row * parts + part] = acc;
}

__global__ void finish(const float* partial, float* y, int rows, int cols, int parts) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float acc = 0.f;
    for (int p = 0; p < parts; ++p) acc += partial[row * parts + p];
    y[row] = acc / cols;
}

torch::Tensor row_mean(torch::Tensor x) {
    int rows = x.size(0);
    int cols = x.size(1);
    int parts = 4;
    auto partial = torch::empty({rows, parts}, x.options());
    auto y = torch::empty({rows}, x.options());
    partial_sums<<<dim3(parts, rows), 32>>>(x.data_ptr<float>(), partial.data_ptr<float>(), cols, parts);
    finish<<<(rows + 63) / 64, 64>>>(partial.data_ptr<float>(), y.data_ptr<float>(), rows, cols, parts);
    return y;
}
"""

mod = load_inline(name="row_mean", cpp_sources="torch::Tensor row_mean(torch::Tensor x);",
                  cuda_sources=source, functions=["row_mean"], verbose=True)

class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return mod.row_mean(x)
