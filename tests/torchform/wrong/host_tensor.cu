// task: relu
// expect: unsupported
// log: a tensor on the CPU
#include <torch/extension.h>
torch::Tensor relu(torch::Tensor x) { return torch::empty({x.size(0)}, torch::kFloat32); }
