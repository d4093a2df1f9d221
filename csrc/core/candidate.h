/// What was submitted, made into one CUDA C++ text: either form of a candidate.
#ifndef JAXKERN_CORE_CANDIDATE_H_
#define JAXKERN_CORE_CANDIDATE_H_

#include <string>
#include <vector>

#include "core/python_program.h"
#include "jaxkern/evaluator.h"

namespace jaxkern {

/// A function of a candidate in torch's form.
struct TorchFunction {
  std::string name;                     ///< as C++ calls it, "" if native
  std::vector<std::string> parameters;  ///< their names; "" for what has none
  std::vector<PassedValue> passed;      ///< what Python passes, if it is known
};

struct Candidate {
  Status status = Status::kOk;  ///< else kExtractError or kUnsupported
  std::string log;              ///< why, if it is not kOk
  std::string form = "native";  ///< or "torch"
  std::string text;             ///< what the model wrote, its lines in place
  /// The same to be compiled: where lines could not keep their places, with
  /// #line directives.
  std::string unit;
  TorchFunction function;          ///< of the form "torch"
  std::vector<std::string> flags;  ///< for the compiler; "torch"
};

/// Recognises a Python text by a line that imports, and torch's form in C++ by
/// an include of torch's headers. All else is "native", and is left as it is.
Candidate ReadCandidate(const std::string& source);

}  // namespace jaxkern

#endif  // JAXKERN_CORE_CANDIDATE_H_
