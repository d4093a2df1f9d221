/// What the numbers that candidates return mean.
#ifndef JAXKERN_WORKER_CUDA_ERROR_H_
#define JAXKERN_WORKER_CUDA_ERROR_H_

#include <string>

namespace jaxkern {

inline constexpr int kCudaErrorMemoryAllocation = 2;

/// "cudaErrorInvalidConfiguration (9)", or "error 1234" for what a launch
/// hardly ever gives.
std::string CudaErrorName(int code);

/// True for a kernel that started and failed, false for one that never ran.
bool IsCudaFault(int code);

}  // namespace jaxkern

#endif  // JAXKERN_WORKER_CUDA_ERROR_H_
