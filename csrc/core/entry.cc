#include "core/entry.h"

namespace jaxkern {
namespace {

/// "const float*" for an input, "float*" for an output, "float" by value.
std::string ParameterType(const Argument& argument) {
  const std::string type = Info(argument.dtype).cxx;
  switch (argument.kind) {
    case Argument::Kind::kInput:
      return "const " + type + "*";
    case Argument::Kind::kOutput:
      return type + "*";
    case Argument::Kind::kAttribute:
      break;
  }
  return type;
}

bool Uses(const Problem& problem, Dtype dtype) {
  for (const Argument& argument : problem.arguments) {
    if (argument.dtype == dtype) return true;
  }
  return false;
}

}  // namespace

std::string Signature(const Problem& problem) {
  std::string text = "extern \"C\" int launch(";
  for (const Argument& argument : problem.arguments) {
    text += ParameterType(argument) + " " + argument.name + ", ";
  }
  return text + "cudaStream_t stream)";
}

std::string CheckedText(const Problem& problem) {
  std::string text = "#ifdef JAXKERN_CHECK\n";
  for (size_t i = 0; i < problem.arguments.size(); ++i) {
    const Argument& argument = problem.arguments[i];
    if (argument.kind == Argument::Kind::kAttribute) continue;
    text += "jaxkern_check_argument(*static_cast<void**>(a[" +
            std::to_string(i) + "]), \"" + argument.name + "\", sizeof(" +
            Info(argument.dtype).cxx + "), " +
            (argument.kind == Argument::Kind::kInput ? "true" : "false") +
            ");\n";
  }
  return text + "#endif\n";
}

std::string EntryText(const Problem& problem) {
  std::string call;
  for (size_t i = 0; i < problem.arguments.size(); ++i) {
    const Argument& argument = problem.arguments[i];
    const std::string pointed = "a[" + std::to_string(i) + "]";
    const std::string type = ParameterType(argument);
    call += "*static_cast<" + type + " const*>(" + pointed + "), ";
  }
  const std::string line =
      "\n#line 1 \"" + std::string(kSignatureFile) + "\"\n";
  return std::string("\n#include <stdint.h>\n") +
         (Uses(problem, Dtype::kFloat16) ? "#include <cuda_fp16.h>\n" : "") +
         (Uses(problem, Dtype::kBfloat16) ? "#include <cuda_bf16.h>\n" : "") +
         line + Signature(problem) + ";\n" + "extern \"C\" int " +
         kEntrySymbol + "(void** a, cudaStream_t stream) {\n" +
         CheckedText(problem) + "return launch(" + call + "stream); }\n";
}

}  // namespace jaxkern
