// The same for candidates in torch's form. As torch's headers do, it brings all
// parts of ours, whether the text mentions them or not.
#ifndef JAXKERN_SPLIT_TORCH_H_
#define JAXKERN_SPLIT_TORCH_H_

#include "jaxkern_split.h"

#define JAXKERN_TORCH_VECTOR
#define JAXKERN_TORCH_TUPLE
#define JAXKERN_TORCH_ARRAY
#define JAXKERN_TORCH_OPTIONAL
#include <jaxkern_torch/call.h>

#endif  // JAXKERN_SPLIT_TORCH_H_
