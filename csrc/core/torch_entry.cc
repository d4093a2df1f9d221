#include "core/torch_entry.h"

#include <algorithm>
#include <sstream>

#include "core/entry.h"
#include "core/native.h"
#include "core/sha256.h"

namespace jaxkern {
namespace {

constexpr size_t kMostParameters = 64;  // jaxkern_torch/call.h

const char* ScalarTypeName(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFloat64:
      return "Double";
    case Dtype::kFloat32:
      return "Float";
    case Dtype::kFloat16:
      return "Half";
    case Dtype::kBfloat16:
      return "BFloat16";
    case Dtype::kInt64:
      return "Long";
    case Dtype::kInt32:
      return "Int";
    case Dtype::kInt8:
      return "Char";
    case Dtype::kUint8:
      return "Byte";
    case Dtype::kBool:
      return "Bool";
  }
  return "Undefined";
}

const char* KindName(const Argument& argument) {
  if (argument.kind != Argument::Kind::kAttribute) return "kTensor";
  if (argument.dtype == Dtype::kBool) return "kBool";
  return Info(argument.dtype).floating ? "kFloat" : "kInteger";
}

const Argument* Find(const Problem& problem, const std::string& name) {
  const auto found =
      std::find_if(problem.arguments.begin(), problem.arguments.end(),
                   [&](const Argument& a) { return a.name == name; });
  return found == problem.arguments.end() ? nullptr : &*found;
}

/// The names of some arguments, e.g. "x, w"; "none" if there are none.
template <typename Predicate>
std::string Names(const Problem& problem, Predicate wanted) {
  std::string names;
  for (const Argument& argument : problem.arguments) {
    if (wanted(argument)) names += (names.empty() ? "" : ", ") + argument.name;
  }
  return names.empty() ? "none" : names;
}

int Count(const Problem& problem, Argument::Kind kind) {
  return static_cast<int>(
      std::count_if(problem.arguments.begin(), problem.arguments.end(),
                    [&](const Argument& a) { return a.kind == kind; }));
}

/// An attribute's value, or a number.
std::string Extent(const Problem& problem,
                   const std::variant<int64_t, std::string>& extent) {
  if (const auto* number = std::get_if<int64_t>(&extent)) {
    return std::to_string(*number);
  }
  const Argument* named = Find(problem, std::get<std::string>(extent));
  return "*static_cast<int64_t*>(a[" +
         std::to_string(named - problem.arguments.data()) + "])";
}

std::string ArgumentText(const Problem& problem, size_t i) {
  const Argument& argument = problem.arguments[i];
  const std::string place = "a[" + std::to_string(i) + "]";
  std::string text = "{\"" + argument.name +
                     "\", ::jaxkern_torch::Kind::" + KindName(argument);
  if (argument.kind == Argument::Kind::kAttribute) {
    return text + ", false, " + place + "},\n";
  }
  text += argument.kind == Argument::Kind::kOutput ? ", true" : ", false";
  text += ", *static_cast<void**>(" + place +
          "), ::c10::ScalarType::" + ScalarTypeName(argument.dtype) + ", " +
          std::to_string(argument.shape.size()) + ", {";
  for (const auto& extent : argument.shape) {
    text += Extent(problem, extent) + ", ";
  }
  return text + "}},\n";
}

/// What is known of the function's parameters, by place.
struct Known {
  std::string names, literals;
};

Known KnownParameters(const Problem& problem, const TorchFunction& function) {
  const size_t count =
      std::min(std::max(function.parameters.size(), function.passed.size()),
               kMostParameters - 1);
  const bool passed = function.parameters.empty() ||
                      function.passed.size() == function.parameters.size();
  Known known;
  for (size_t i = 0; i < count; ++i) {
    std::string name =
        i < function.parameters.size() ? function.parameters[i] : "";
    std::string literal;
    if (passed && i < function.passed.size()) {
      literal = function.passed[i].literal;
      if (Find(problem, function.passed[i].name) != nullptr) {
        name = function.passed[i].name;
        literal = "";
      }
    }
    known.names +=
        "{" + (name.empty() ? "nullptr" : "\"" + name + "\"") + ", " +
        (literal.empty() ? "nullptr" : "\"" + literal + "\"") + "}, ";
    known.literals += literal.empty() ? "false, " : "true, ";
  }
  return known;
}

std::string Assert(const std::string& holds, const std::string& otherwise) {
  return "static_assert(" + holds + ", \"" + otherwise + "\");\n";
}

/// The conditions on the function's type.
std::string FitsText(const Problem& problem, const Known& known) {
  using Kind = Argument::Kind;
  const std::string inputs =
      Names(problem, [](const Argument& a) { return a.kind == Kind::kInput; });
  const std::string outputs =
      Names(problem, [](const Argument& a) { return a.kind == Kind::kOutput; });
  const int in = Count(problem, Kind::kInput);
  const int all = in + Count(problem, Kind::kOutput);
  const std::string tensors = "S::Count(::jaxkern_torch::Kind::kTensor)";
  std::ostringstream text;
  text << "namespace {\n"
       << "constexpr bool jaxkern_literals[" << kMostParameters << "] = {"
       << known.literals << "};\n"
       << "template <class F> struct JaxkernFits : ::jaxkern_torch::Signature"
          "<F> {\nusing S = ::jaxkern_torch::Signature<F>;\n"
       << Assert("S::Count(::jaxkern_torch::Kind::kOther) == 0",
                 "a parameter is neither a torch::Tensor nor a number")
       << Assert(tensors + " >= " + std::to_string(in),
                 "the function takes fewer tensors than the task's inputs: " +
                     inputs)
       << Assert(tensors + " - S::kOptional <= " + std::to_string(all),
                 "the function takes more tensors than the task has: inputs " +
                     inputs + ", outputs " + outputs)
       << Assert("S::kReturns || " + tensors + " == " + std::to_string(all),
                 "the function returns nothing and does not take the task's "
                 "outputs: " +
                     outputs);
  for (const auto& [kind, what] :
       {std::pair<const char*, const char*>{"kInteger", "integers"},
        {"kFloat", "floats"},
        {"kBool", "bools"}}) {
    const auto is = [kind = kind](const Argument& a) {
      return KindName(a) == std::string(kind);
    };
    const auto count =
        std::count_if(problem.arguments.begin(), problem.arguments.end(), is);
    text << Assert("S::Free(::jaxkern_torch::Kind::" + std::string(kind) +
                       ", jaxkern_literals) <= " + std::to_string(count),
                   std::string("the function takes more ") + what +
                       " than the task has attributes of that kind: " +
                       Names(problem, is));
  }
  text << "};\n}\n";
  return text.str();
}

}  // namespace

std::string TorchEntryText(const Problem& problem,
                           const TorchFunction& function) {
  const Known known = KnownParameters(problem, function);
  std::string arguments;
  for (size_t i = 0; i < problem.arguments.size(); ++i) {
    arguments += ArgumentText(problem, i);
  }
  return "\n#include <jaxkern_torch/call.h>\n#line 1 \"" +
         std::string(kSignatureFile) + "\"\n" + FitsText(problem, known) +
         "extern \"C\" int " + kEntrySymbol +
         "(void** a, cudaStream_t stream) {\n" + CheckedText(problem) +
         "static const ::jaxkern_torch::Parameter parameters[" +
         std::to_string(kMostParameters) + "] = {" + known.names + "};\n" +
         "::jaxkern_torch::Argument arguments[] = {\n" + arguments + "};\n" +
         "return ::jaxkern_torch::Call<JaxkernFits>(\"" + function.name +
         "\", &" + function.name + ", parameters, arguments, " +
         std::to_string(problem.arguments.size()) + ", stream);\n}\n";
}

TorchUnitText MakeTorchUnit(const Candidate& candidate,
                            const Problem& problem) {
  static const std::string directory = NativeDirectory() + "/torch";
  static const std::string headers = HashOfFiles(directory).substr(0, 16);
  TorchUnitText unit;
  unit.source = candidate.unit;
  unit.entry = TorchEntryText(problem, candidate.function);
  unit.flags = {"-I" + directory, "-DJAXKERN_TORCH_HEADERS=0x" + headers};
  unit.flags.insert(unit.flags.end(), candidate.flags.begin(),
                    candidate.flags.end());
  return unit;
}

}  // namespace jaxkern
