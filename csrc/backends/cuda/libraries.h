/// Finds NVIDIA's libraries for baselines: cublas, cudnn, cub, thrust.
#ifndef JAXKERN_BACKENDS_CUDA_LIBRARIES_H_
#define JAXKERN_BACKENDS_CUDA_LIBRARIES_H_

#include <string>
#include <vector>

#include "backends/cuda/nvcc.h"
#include "backends/toolchain.h"

namespace jaxkern {

/// Looks beside the nvcc, then in $CUDA_HOME, in wheels, in $LD_LIBRARY_PATH
/// and where systems keep such libraries.
Libraries FindCudaLibraries(const Nvcc& nvcc,
                            const std::vector<std::string>& names);

/// Directories that a worker must be able to read to open what was found, the
/// parts that such a library opens itself included.
std::vector<std::string> CudaLibraryDirectories(const Nvcc& nvcc);

}  // namespace jaxkern

#endif  // JAXKERN_BACKENDS_CUDA_LIBRARIES_H_
