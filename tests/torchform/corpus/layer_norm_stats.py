# task: layer_norm
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

layernorm_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

template <typename T>
__device__ T block_reduce_sum(T val, T* shared) {
    int lane = threadIdx.x % 32;
    int wid = threadIdx.x / 32;
    for (int offset = 16; offset > 0; offset /= 2)
        val += __shfl_down_sync(0xffffffff, val, offset);
    if (lane == 0) shared[wid] = val;
    __syncthreads();
    val = (threadIdx.x < blockDim.x / 32) ? shared[lane] : T(0);
    if (wid == 0) {
        for (int offset = 16; offset > 0; offset /= 2)
            val += __shfl_down_sync(0xffffffff, val, offset);
        if (lane == 0) shared[0] = val;
    }
    __syncthreads();
    val = shared[0];
    __syncthreads();
    return val;
}

__global__ void layernorm_kernel(const float* x, float* y, int n, float eps) {
    __shared__ float shared[32];
    const float* row = x + (size_t)blockIdx.x * n;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += row[i];
    float mean = block_reduce_sum(sum, shared) / n;
    float sq = 0.0f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        float d = row[i] - mean;
        sq += d * d;
    }
    float rstd = rsqrtf(block_reduce_sum(sq, shared) / n + eps);
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        y[(size_t)blockIdx.x * n + i] = (row[i] - mean) * rstd;
}

torch::Tensor layernorm_cuda(torch::Tensor x, double eps) {
    auto y = torch::empty_like(x);
    int n = x.size(x.dim() - 1);
    int rows = x.numel() / n;
    layernorm_kernel<<<rows, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n, (float)eps);
    return y;
}
"""

layernorm_cpp_source = "torch::Tensor layernorm_cuda(torch::Tensor x, double eps);"

layernorm = load_inline(
    name="layernorm",
    cpp_sources=layernorm_cpp_source,
    cuda_sources=layernorm_source,
    functions=["layernorm_cuda"],
)


class ModelNew(nn.Module):
    def __init__(self, normalized_shape: tuple):
        super(ModelNew, self).__init__()
        self.eps = 1e-5

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return layernorm.layernorm_cuda(x, self.eps)
