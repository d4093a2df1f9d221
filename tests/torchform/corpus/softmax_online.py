# task: softmax
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# One block per row; maximum and sum in one pass.
softmax_cuda_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <math_constants.h>

#define BLOCK_SIZE 128

__device__ void combine(float& m, float& d, float m2, float d2) {
    const float top = fmaxf(m, m2);
    if (top == -CUDART_INF_F) return;
    d = d * expf(m - top) + d2 * expf(m2 - top);
    m = top;
}

__global__ void softmax_kernel(const float* __restrict__ x, float* __restrict__ y, int cols) {
    __shared__ float ms[BLOCK_SIZE];
    __shared__ float ds[BLOCK_SIZE];
    const float* in = x + (size_t)blockIdx.x * cols;
    float* out = y + (size_t)blockIdx.x * cols;
    float m = -CUDART_INF_F, d = 0.0f;
    for (int c = threadIdx.x; c < cols; c += BLOCK_SIZE) combine(m, d, in[c], 1.0f);
    ms[threadIdx.x] = m;
    ds[threadIdx.x] = d;
    __syncthreads();
    for (int s = BLOCK_SIZE / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) {
            float a = ms[threadIdx.x], b = ds[threadIdx.x];
            combine(a, b, ms[threadIdx.x + s], ds[threadIdx.x + s]);
            ms[threadIdx.x] = a;
            ds[threadIdx.x] = b;
        }
        __syncthreads();
    }
    m = ms[0];
    d = ds[0];
    for (int c = threadIdx.x; c < cols; c += BLOCK_SIZE) out[c] = expf(in[c] - m) / d;
}

torch::Tensor softmax_cuda(torch::Tensor x) {
    const auto batch_size = x.size(0);
    const auto dim = x.size(1);
    auto y = torch::empty_like(x);
    softmax_kernel<<<batch_size, BLOCK_SIZE>>>(x.data_ptr<float>(), y.data_ptr<float>(), dim);
    return y;
}
"""

softmax_cpp_source = """
torch::Tensor softmax_cuda(torch::Tensor x);
"""

softmax = load_inline(
    name="softmax",
    cpp_sources=softmax_cpp_source,
    cuda_sources=softmax_cuda_source,
    functions=["softmax_cuda"],
    verbose=True,
)


class ModelNew(nn.Module):
    def __init__(self):
        super(ModelNew, self).__init__()
        self.softmax = softmax

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.softmax.softmax_cuda(x)
