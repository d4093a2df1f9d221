// task: add_int32
#include <torch/extension.h>

template <typename T>
__global__ void add_kernel(const T* a, const T* b, T* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

torch::Tensor add(torch::Tensor a, torch::Tensor b) {
  auto c = torch::empty_like(a, a.options());
  int n = a.numel();
  AT_DISPATCH_ALL_TYPES(a.scalar_type(), "add", [&]() {
    add_kernel<scalar_t><<<(n + 255) / 256, 256>>>(a.data_ptr<scalar_t>(), b.data_ptr<scalar_t>(),
                                                   c.data_ptr<scalar_t>(), n);
  });
  return c;
}
