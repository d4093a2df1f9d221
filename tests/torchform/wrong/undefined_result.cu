// task: relu
// expect: wrong_answer
// log: returned an undefined tensor as y
#include <torch/extension.h>
torch::Tensor relu(torch::Tensor x) {
  torch::Tensor y;
  return y;
}
