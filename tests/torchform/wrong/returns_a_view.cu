// task: transpose
// expect: wrong_answer
// log: a view with strides
#include <torch/extension.h>
torch::Tensor transpose(torch::Tensor x) { return x.t(); }
