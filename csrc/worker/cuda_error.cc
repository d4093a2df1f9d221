#include "worker/cuda_error.h"

namespace jaxkern {
namespace {

struct CudaError {
  int code;
  const char* name;
  bool fault;
};

// CUDA Runtime API, section "Data types used by CUDA Runtime".
constexpr CudaError kErrors[] = {
    {1, "cudaErrorInvalidValue", false},
    {kCudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", false},
    {9, "cudaErrorInvalidConfiguration", false},
    {13, "cudaErrorInvalidSymbol", false},
    {17, "cudaErrorInvalidDevicePointer", false},
    {21, "cudaErrorInvalidMemcpyDirection", false},
    {98, "cudaErrorInvalidDeviceFunction", false},
    {209, "cudaErrorNoKernelImageForDevice", false},
    {400, "cudaErrorInvalidResourceHandle", false},
    {700, "cudaErrorIllegalAddress", true},
    {701, "cudaErrorLaunchOutOfResources", false},
    {702, "cudaErrorLaunchTimeout", true},
    {710, "cudaErrorAssert", true},
    {714, "cudaErrorHardwareStackError", true},
    {715, "cudaErrorIllegalInstruction", true},
    {716, "cudaErrorMisalignedAddress", true},
    {717, "cudaErrorInvalidAddressSpace", true},
    {718, "cudaErrorInvalidPc", true},
    {719, "cudaErrorLaunchFailure", true},
    {720, "cudaErrorCooperativeLaunchTooLarge", false},
    {801, "cudaErrorNotSupported", false},
};

const CudaError* Find(int code) {
  for (const CudaError& error : kErrors) {
    if (error.code == code) return &error;
  }
  return nullptr;
}

}  // namespace

std::string CudaErrorName(int code) {
  const CudaError* error = Find(code);
  if (error == nullptr) return "error " + std::to_string(code);
  return std::string(error->name) + " (" + std::to_string(code) + ")";
}

bool IsCudaFault(int code) {
  const CudaError* error = Find(code);
  return error != nullptr && error->fault;
}

}  // namespace jaxkern
