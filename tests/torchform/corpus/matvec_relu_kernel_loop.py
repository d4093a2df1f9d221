# task: matvec_relu
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = '''
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <algorithm>

#define CUDA_CHECK(call)                                              \\
  do {                                                                \\
    cudaError_t e = (call);                                           \\
    TORCH_CHECK(e == cudaSuccess, "CUDA: ", cudaGetErrorString(e));   \\
  } while (0)

__global__ void matvec(const float* x, const float* w, float* y, int rows, int cols)
{
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        float acc = 0.0f;
        for (int c = threadIdx.x; c < cols; c += blockDim.x)
            acc += x[row * cols + c] * w[c];
        for (int mask = 16; mask > 0; mask >>= 1)
            acc += __shfl_xor_sync(0xFFFFFFFF, acc, mask);
        if (threadIdx.x == 0) {
            y[row] = acc > 0.0f ? acc : 0.0f;
        }
    }
}

at::Tensor matvec_relu(at::Tensor x, at::Tensor w)
{
    const int rows = x.size(0);
    const int cols = x.size(1);
    at::Tensor y = at::empty({rows}, x.options());
    matvec<<<std::min(rows, 64), 32>>>(x.data_ptr<float>(), w.data_ptr<float>(),
                                       y.data_ptr<float>(), rows, cols);
    CUDA_CHECK(cudaGetLastError());
    return y;
}
'''

lib = load_inline(
  name = 'matvec_relu_lib',
  cpp_sources = 'at::Tensor matvec_relu(at::Tensor x, at::Tensor w);',
  cuda_sources = source,
  functions = ['matvec_relu'],
  with_cuda = True,
)

class ModelNew(nn.Module):
  def __init__(self, cols):
    super().__init__()
    self.w = nn.Parameter(torch.randn(cols))

  def forward(self, x):
    return lib.matvec_relu(x, self.w)
