// task: relu
// expect: runtime_error
// log: expected scalar type Double but found Float
#include <torch/extension.h>
torch::Tensor relu(torch::Tensor x) {
  auto y = torch::empty_like(x);
  double* p = x.data_ptr<double>();
  return y;
}
