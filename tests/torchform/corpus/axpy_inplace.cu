// task: axpy
// Returns nothing: the caller brings the output.
#include <torch/extension.h>

__global__ void axpy_kernel(float a, const float* x, const float* z, float* out, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) out[i] = fmaf(a, x[i], z[i]);
}

void axpy(torch::Tensor x, torch::Tensor z, torch::Tensor out, double a) {
  TORCH_CHECK(out.numel() == x.numel());
  auto n = x.numel();
  dim3 block(256);
  dim3 grid((n + block.x - 1) / block.x);
  axpy_kernel<<<grid, block>>>(static_cast<float>(a), x.data_ptr<float>(), z.data_ptr<float>(),
                               out.data_ptr<float>(), n);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("axpy", &axpy, "y = a * x + z", py::arg("x"), py::arg("z"), py::arg("out"),
        py::arg("a") = 1.0);
}
