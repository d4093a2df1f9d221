/// Divides a candidate into what NVRTC compiles and what the host's compiler
/// compiles. Pure; decides with a lexer and the grammar of declarations, and
/// where it is not certain it says so and nothing is divided.
///
/// The device's half has kernels, device functions and variables, and what they
/// mention. The host's half has everything else, with kernels as functions that
/// launch themselves: they have the names (and so the symbols) that the cubin
/// knows them by, and are registered with the runtime as nvcc would. Every line
/// stays where it is.
#ifndef JAXKERN_BACKENDS_CUDA_SPLIT_H_
#define JAXKERN_BACKENDS_CUDA_SPLIT_H_

#include <set>
#include <string>

namespace jaxkern {

struct Division {
  std::string obstacle;  ///< why it cannot be divided; "" if it was
  std::string device, host;
  bool templates = false;  ///< which kernels there are, only the host's half
                           ///< knows
  std::string includes;    ///< all #include directives, a line each
  /// Names of types and constants that the device's half does not have, since
  /// nothing there mentions them.
  std::set<std::string> left_out;
};

/// The device's half has what bears one of the names in `wanted`, too.
Division Divide(const std::string& source,
                const std::set<std::string>& wanted = {});

}  // namespace jaxkern

#endif  // JAXKERN_BACKENDS_CUDA_SPLIT_H_
