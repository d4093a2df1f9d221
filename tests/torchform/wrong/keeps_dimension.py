# task: row_sum
# expect: wrong_answer
# log: f returned a tensor of shape [1, 1] as y, expected [1]
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
__global__ void sum(const float* x, float* y, int rows, int cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float s = 0;
  for (int c = 0; c < cols; ++c) s += x[r * cols + c];
  y[r] = s;
}
torch::Tensor f(torch::Tensor x) {
  auto y = torch::empty({x.size(0), 1}, x.options());
  sum<<<(x.size(0) + 31) / 32, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1));
  return y;
}
"""

ext = load_inline(
    name="ext",
    cpp_sources="torch::Tensor f(torch::Tensor x);",
    cuda_sources=source,
    functions=["f"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.f(x)
