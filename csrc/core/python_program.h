/// What a Python text hands to torch's load_inline, found without running it.
#ifndef JAXKERN_CORE_PYTHON_PROGRAM_H_
#define JAXKERN_CORE_PYTHON_PROGRAM_H_

#include <optional>
#include <string>
#include <vector>

#include "core/python_text.h"

namespace jaxkern {

/// The value of an expression, as far as it is followed.
struct PythonValue {
  enum class Kind {
    kUnknown,
    kText,
    kList,         ///< also tuples, and dictionaries: their keys
    kUnsupported,  ///< a string put together in a way that is not followed
  };
  Kind kind = Kind::kUnknown;
  PlacedText text;
  std::vector<PythonValue> items;
  std::string why;  ///< kUnsupported: "an f-string (line 3)"
};

/// An argument that Python passes to the function.
struct PassedValue {
  std::string literal;  ///< a number, true or false, in C++'s spelling; or ""
  std::string name;     ///< the last part of a name, "eps" of `self.eps`; or ""
};

/// One call of load_inline.
struct InlineCall {
  int line = 0;
  PythonValue cpp_sources, cuda_sources, functions;
};

class PythonProgram {
 public:
  explicit PythonProgram(const std::string& source);

  const std::vector<InlineCall>& inline_calls() const { return calls_; }

  /// Whether `something.name(` occurs.
  bool Calls(const std::string& name) const;

  /// What is passed to a function that is called in one place; else nothing.
  std::optional<std::vector<PassedValue>> Passes(const std::string& name) const;

 private:
  std::vector<PythonToken> tokens_;
  std::vector<InlineCall> calls_;
};

/// Whether a text is Python rather than C++: it has a line that imports.
bool IsPython(const std::string& source);

}  // namespace jaxkern

#endif  // JAXKERN_CORE_PYTHON_PROGRAM_H_
