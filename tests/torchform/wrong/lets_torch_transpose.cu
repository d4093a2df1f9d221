// task: transpose
// expect: unsupported
// log: which is a kernel's work
#include <torch/extension.h>
torch::Tensor transpose(torch::Tensor x) { return x.transpose(0, 1).contiguous(); }
