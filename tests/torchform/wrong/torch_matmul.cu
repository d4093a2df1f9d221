// task: matmul
// expect: compile_error
// log: matmul
#include <torch/extension.h>
torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
  return torch::matmul(a, b);
}
