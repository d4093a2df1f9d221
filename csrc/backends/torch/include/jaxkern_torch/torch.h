// A slim stand-in for torch's C++ headers: tensors over the evaluator's memory
// and what candidates commonly call on them. docs/torch_form.md lists it.
#pragma once
#ifdef __CUDACC_RTC__
// Device code alone (docs/evaluator.md): nothing of the host's exists there.
#include "accessor.h"
#include "scalar_type.h"
#else
#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <exception>
#include <initializer_list>
#include <new>
// Each by what the candidate's text mentions; see core/torch_headers.h.
#ifdef JAXKERN_TORCH_VECTOR
#include <vector>
#endif
#ifdef JAXKERN_TORCH_TUPLE
#include <tuple>
#include <utility>
#endif
#ifdef JAXKERN_TORCH_ARRAY
#include <array>
#endif
#ifdef JAXKERN_TORCH_OPTIONAL
#include <optional>
#endif
#include "accessor.h"
#include "errors.h"
#ifdef JAXKERN_TORCH_HALF
#include "half.h"
#endif

JAXKERN_TORCH_COLD
#include "create.h"
#include "cuda.h"
#include "dispatch.h"
#include "pybind.h"
#include "shapes.h"
JAXKERN_TORCH_END_COLD

#ifdef JAXKERN_TORCH_OPTIONAL
namespace c10 {
using std::make_optional;
using std::nullopt;
using std::nullopt_t;
using std::optional;
}  // namespace c10
#endif
#ifdef JAXKERN_TORCH_VECTOR
namespace c10 {
using TensorList = ArrayRef<Tensor>;
}
#endif
#endif  // __CUDACC_RTC__

namespace at {
using namespace c10;
}
namespace torch {
using namespace at;
}
