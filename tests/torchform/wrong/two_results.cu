// task: relu
// expect: wrong_answer
// log: relu returned 2 tensors, expected 1
#include <torch/extension.h>
std::tuple<torch::Tensor, torch::Tensor> relu(torch::Tensor x) {
  return std::make_tuple(torch::zeros_like(x), torch::zeros_like(x));
}
