/// What a C++ text in torch's form says, by its words.
#ifndef JAXKERN_CORE_TORCH_TEXT_H_
#define JAXKERN_CORE_TORCH_TEXT_H_

#include <string>
#include <utility>
#include <vector>

#include "core/unit.h"

namespace jaxkern {

/// Whether it includes <torch/...>, <ATen/...> or <c10/...>.
bool IncludesTorch(const Unit& unit);

/// What PYBIND11_MODULE binds: Python's name and C++'s.
std::vector<std::pair<std::string, std::string>> BoundFunctions(
    const Unit& unit);

/// The functions on tensors that are defined at file scope for others to call:
/// not static, no templates, and not called by another one of them.
std::vector<std::string> TensorFunctions(const Unit& unit);

/// The names of a function's parameters, "" where there is none; empty if it
/// is not found.
std::vector<std::string> ParameterNames(const Unit& unit,
                                        const std::string& function);

/// Flags for the compiler: which parts of our headers and of the C++ library
/// the text mentions. torch's own headers bring them all.
std::vector<std::string> TorchFlags(const Unit& unit);

}  // namespace jaxkern

#endif  // JAXKERN_CORE_TORCH_TEXT_H_
