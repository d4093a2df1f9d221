/// Clocks and temperature of a GPU, from the driver's management library. It
/// needs no CUDA context.
#ifndef JAXKERN_BACKENDS_CUDA_NVML_H_
#define JAXKERN_BACKENDS_CUDA_NVML_H_

#include <optional>
#include <string>

#include "jaxkern/evaluator.h"

namespace jaxkern {

/// Of the GPU at a PCI address like "0000:1B:00.0". Nothing if there is no
/// libnvidia-ml.so.1, or it does not tell one of them. Thread safe; the library
/// is opened by the first call and stays open.
std::optional<ClockReading> ReadGpuClocks(const std::string& pci_address);

}  // namespace jaxkern

#endif  // JAXKERN_BACKENDS_CUDA_NVML_H_
