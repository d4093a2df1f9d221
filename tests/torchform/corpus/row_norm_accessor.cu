// task: row_norm
#include <torch/extension.h>

template <typename scalar_t>
__global__ void row_norm_kernel(
    const torch::PackedTensorAccessor32<scalar_t, 2, torch::RestrictPtrTraits> x,
    torch::PackedTensorAccessor32<scalar_t, 1, torch::RestrictPtrTraits> y) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < x.size(0)) {
    scalar_t sum = 0;
    for (int c = 0; c < x.size(1); c++) {
      sum += x[row][c] * x[row][c];
    }
    y[row] = sqrt(sum);
  }
}

torch::Tensor row_norm(torch::Tensor x) {
  auto y = torch::zeros({x.size(0)}, x.options());
  const int threads = 64;
  const int blocks = (x.size(0) + threads - 1) / threads;
  AT_DISPATCH_FLOATING_TYPES(x.type(), "row_norm", ([&] {
    row_norm_kernel<scalar_t><<<blocks, threads>>>(
        x.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>(),
        y.packed_accessor32<scalar_t, 1, torch::RestrictPtrTraits>());
  }));
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("forward", &row_norm, "row norm");
}
