// task: bias_relu
#include <torch/extension.h>

__global__ void bias_relu(const float* x, const float* bias, float* y, int cols,
                          int bias_row, int bias_col, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i] + bias[i / cols * bias_row + i % cols * bias_col];
  y[i] = v > 0 ? v : 0;
}

// Shapes of the same data; what each must be was asked of torch 2.13.
void check_views(const torch::Tensor& x) {
  torch::NoGradGuard guard;
  auto a = x.new_full({2, 3, 4}, 1.5f);
  TORCH_CHECK(a.sizes() == torch::IntArrayRef({2, 3, 4}));
  auto moved = a.movedim(0, 2);
  TORCH_CHECK(moved.sizes() == torch::IntArrayRef({3, 4, 2}), moved.sizes());
  TORCH_CHECK(moved.strides() == torch::IntArrayRef({4, 1, 12}));
  TORCH_CHECK(a.movedim(-1, 0).strides() == torch::IntArrayRef({1, 12, 4}));
  TORCH_CHECK(torch::movedim(a, 1, 1).strides() == a.strides());
  TORCH_CHECK(a.mT().strides() == torch::IntArrayRef({12, 1, 4}));
  TORCH_CHECK(a.swapaxes(0, 1).sizes() == torch::IntArrayRef({3, 2, 4}));
  auto wide = a.select(1, 0).unsqueeze(1).expand({5, 2, -1, 4});
  TORCH_CHECK(wide.sizes() == torch::IntArrayRef({5, 2, 1, 4}), wide.sizes());
  TORCH_CHECK(wide.strides() == torch::IntArrayRef({0, 12, 4, 1}));
  TORCH_CHECK(!wide.is_contiguous());
  auto open = a.unflatten(2, {2, -1});
  TORCH_CHECK(open.sizes() == torch::IntArrayRef({2, 3, 2, 2}), open.sizes());
  TORCH_CHECK(open.strides() == torch::IntArrayRef({12, 4, 2, 1}));
  auto diagonal = a.select(0, 1).narrow(1, 0, 3).as_strided({3}, {5}, 12);
  TORCH_CHECK(diagonal.data_ptr<float>() == a.data_ptr<float>() + 12);
  auto apart = torch::empty_strided({2, 3}, {1, 4}, x.options());
  TORCH_CHECK(apart.stride(1) == 4 && torch::numel(apart) == 6);

  auto parts = a.split(3, 2);
  TORCH_CHECK(parts.size() == 2 && parts[1].size(2) == 1);
  TORCH_CHECK(parts[1].data_ptr<float>() == a.data_ptr<float>() + 3);
  auto uneven = a.split({1, 2}, 1);
  TORCH_CHECK(uneven[1].sizes() == torch::IntArrayRef({2, 2, 4}));
  TORCH_CHECK(torch::chunk(a, 2, 1)[0].size(1) == 2);
  auto slices = torch::unbind(a, 1);
  TORCH_CHECK(slices.size() == 3);
  TORCH_CHECK(slices[2].data_ptr<float>() == a.data_ptr<float>() + 8);
  a.unsqueeze_(0).squeeze_(0);
  TORCH_CHECK(torch::flatten(torch::transpose(a, 0, 0), 1).size(1) == 12);
  TORCH_CHECK(torch::reshape(a, {4, -1}).size(1) == 6);
}

torch::Tensor bias_relu_forward(torch::Tensor x, torch::Tensor bias) {
  check_views(x);
  torch::Tensor every = bias.unsqueeze(0).expand_as(x);
  TORCH_CHECK(every.sizes() == x.sizes());
  auto y = torch::empty_like(x);
  int n = torch::numel(x);
  bias_relu<<<(n + 127) / 128, 128>>>(
      x.data_ptr<float>(), every.data_ptr<float>(), y.data_ptr<float>(),
      x.size(1), every.stride(0), every.stride(1), n);
  return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("forward", &bias_relu_forward);
}
