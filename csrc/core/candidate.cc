#include "core/candidate.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "core/torch_text.h"
#include "core/unit.h"

namespace jaxkern {
namespace {

using ValueKind = PythonValue::Kind;

Candidate Refuse(Status status, const std::string& why) {
  Candidate candidate;
  candidate.status = status;
  candidate.form = "torch";
  candidate.log = why + "\n";
  return candidate;
}

/// The strings of a value: itself, or its items. Nothing if there is another
/// one among them, which is then in *why.
std::optional<std::vector<PlacedText>> Strings(const PythonValue& value,
                                               const std::string& name,
                                               std::string* why) {
  if (value.kind == ValueKind::kText) return {{value.text}};
  if (value.kind == ValueKind::kUnsupported) {
    *why = name + " holds " + value.why;
    return std::nullopt;
  }
  std::vector<PlacedText> strings;
  for (const PythonValue& item : value.items) {
    if (item.kind == ValueKind::kUnsupported) {
      *why = name + " holds " + item.why;
    } else if (item.kind != ValueKind::kText) {
      *why = name + " holds something that is not a string literal";
    } else {
      strings.push_back(item.text);
      continue;
    }
    return std::nullopt;
  }
  return strings;
}

/// Writes placed texts one after the other, every line where it was. What the
/// rules read (`text`) and what is compiled (`unit`) differ in `#line`s only;
/// none of them may be what a backslash joins to the line before, where it
/// would swallow what the rules see.
class Composer {
 public:
  void Add(const PlacedText& placed) {
    if (!text_.empty() && text_.back() != '\n') Put('\n');
    if (IsJoined()) Put('\n');  // ends there what was open
    bool fresh = true;          // at the start of a line
    for (size_t i = 0; i < placed.text.size(); ++i) {
      if (fresh && !IsJoined()) MoveTo(placed.lines[i]);
      fresh = placed.text[i] == '\n';
      Put(placed.text[i]);
    }
  }
  const std::string& text() const { return text_; }
  const std::string& unit() const { return unit_; }

 private:
  void Put(char c) {
    text_ += c;
    unit_ += c;
    line_ += c == '\n';
  }
  /// Whether the last line ends in a backslash. Compilers forgive it blanks.
  bool IsJoined() const {
    const size_t last = text_.find_last_not_of(" \t\v\f\r\n");
    return last != std::string::npos && text_[last] == '\\' &&
           std::count(text_.begin() + static_cast<long>(last), text_.end(),
                      '\n') == 1;
  }
  void MoveTo(int line) {
    if (line < line_) {
      unit_ += "#line " + std::to_string(line) + "\n";
      line_ = line;
    }
    while (line_ < line) Put('\n');
  }

  std::string text_, unit_;
  int line_ = 1;  // as the compiler counts
};

/// Declarations alone: then what they say of defaults is said again where the
/// functions are defined, which one translation unit allows once.
void DropDefaults(PlacedText* declarations) {
  if (declarations->text.find('{') != std::string::npos) return;
  int depth = 0;
  bool dropping = false;
  for (char& c : declarations->text) {
    if (c == '(') ++depth;
    if (c == ')') --depth;
    if ((c == ')' && depth == 0) || (c == ',' && depth == 1)) dropping = false;
    if (c == '=' && depth == 1) dropping = true;
    if (dropping && c != '\n') c = ' ';
  }
}

int FirstLine(const PlacedText& text) {
  return text.lines.empty() ? 0 : text.lines.front();
}

/// "a, b and c"
std::string Listed(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  }
  return text;
}

/// Of the functions that are bound, the one that Python calls.
std::string Choose(const std::vector<std::string>& names,
                   const PythonProgram& program, std::string* why) {
  if (names.size() == 1) return names[0];
  std::vector<std::string> called;
  for (const std::string& name : names) {
    if (program.Calls(name)) called.push_back(name);
  }
  if (called.size() == 1) return called[0];
  *why = called.empty()
             ? "load_inline binds " + Listed(names) +
                   ", and none of them is seen to be called; bind one"
             : "Python calls " + Listed(called) +
                   "; what is judged is one function, called once with the "
                   "task's inputs: let one C++ function do the work";
  return "";
}

/// Whether a string names a function, perhaps one of a namespace: it becomes a
/// part of what is compiled, which nothing else looks at.
bool IsFunctionName(const std::string& name) {
  const auto is_word = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == ':';
  };
  return !name.empty() &&
         std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
         std::all_of(name.begin(), name.end(), is_word);
}

/// The C++ text and the function of a call of load_inline.
Candidate FromCall(const InlineCall& call, const PythonProgram& program) {
  std::string why;
  auto cpp = Strings(call.cpp_sources, "cpp_sources", &why);
  auto cuda = Strings(call.cuda_sources, "cuda_sources", &why);
  const auto functions = Strings(call.functions, "functions", &why);
  if (!cpp || !cuda || !functions) {
    return Refuse(Status::kUnsupported, why + "; write it as one literal");
  }
  if (cpp->empty() && cuda->empty()) {
    return Refuse(Status::kExtractError,
                  "no kernel source: load_inline (line " +
                      std::to_string(call.line) +
                      ") is given no cuda_sources that are string literals");
  }
  for (PlacedText& text : *cpp) {
    if (!cuda->empty()) DropDefaults(&text);
  }
  const bool cpp_first = !cpp->empty() && !cuda->empty() &&
                         FirstLine((*cpp)[0]) < FirstLine((*cuda)[0]);
  Composer composer;
  for (const auto* texts :
       {cpp_first ? &*cpp : &*cuda, cpp_first ? &*cuda : &*cpp}) {
    for (const PlacedText& text : *texts) composer.Add(text);
  }
  Candidate candidate;
  candidate.form = "torch";
  candidate.text = composer.text();
  candidate.unit = composer.unit();
  std::vector<std::string> names;
  for (const PlacedText& name : *functions) names.push_back(name.text);
  const Unit unit(candidate.text);
  for (const auto& [name, function] : BoundFunctions(unit)) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(name);
    }
  }
  if (names.empty()) {
    return Refuse(Status::kExtractError,
                  "load_inline (line " + std::to_string(call.line) +
                      ") names no functions, and there is no PYBIND11_MODULE "
                      "with m.def");
  }
  const std::string chosen = Choose(names, program, &why);
  if (chosen.empty()) return Refuse(Status::kUnsupported, why);
  candidate.function.name = chosen;
  for (const auto& [name, function] : BoundFunctions(unit)) {
    if (name == chosen) candidate.function.name = function;
  }
  if (!IsFunctionName(candidate.function.name)) {
    return Refuse(Status::kExtractError,
                  "load_inline (line " + std::to_string(call.line) +
                      ") names a function that C++ cannot have: \"" +
                      candidate.function.name + "\"");
  }
  candidate.function.passed =
      program.Passes(chosen).value_or(std::vector<PassedValue>());
  candidate.function.parameters = ParameterNames(unit, candidate.function.name);
  candidate.flags = TorchFlags(unit);
  return candidate;
}

Candidate FromPython(const std::string& source) {
  const PythonProgram program(source);
  const auto& calls = program.inline_calls();
  if (calls.empty()) {
    return Refuse(Status::kExtractError,
                  "no kernel source: this is Python without a call of "
                  "load_inline(name=..., cpp_sources=..., cuda_sources=..., "
                  "functions=[...])");
  }
  if (calls.size() > 1) {
    return Refuse(Status::kUnsupported,
                  "load_inline is called on lines " +
                      std::to_string(calls[0].line) + " and " +
                      std::to_string(calls[1].line) +
                      "; what is judged is one function of one module");
  }
  return FromCall(calls[0], program);
}

Candidate FromUnit(const std::string& source, const Unit& unit) {
  Candidate candidate;
  candidate.form = "torch";
  candidate.text = candidate.unit = source;
  std::vector<std::string> names;
  for (const auto& [name, function] : BoundFunctions(unit)) {
    names.push_back(function);
  }
  const bool bound = !names.empty();
  if (!bound) names = TensorFunctions(unit);
  if (names.empty()) {
    return Refuse(Status::kExtractError,
                  "torch's headers are included, but there is no function on "
                  "torch::Tensor");
  }
  if (names.size() > 1) {
    return Refuse(Status::kUnsupported,
                  (bound ? "PYBIND11_MODULE binds " : "there are ") +
                      Listed(names) +
                      "; bind the one that is to be judged with m.def");
  }
  candidate.function.name = names[0];
  candidate.function.parameters = ParameterNames(unit, names[0]);
  candidate.flags = TorchFlags(unit);
  return candidate;
}

}  // namespace

Candidate ReadCandidate(const std::string& source) {
  if (IsPython(source)) return FromPython(source);
  if (source.find("torch") != std::string::npos ||
      source.find("ATen") != std::string::npos) {
    const Unit unit(source);
    if (IncludesTorch(unit)) return FromUnit(source, unit);
  }
  Candidate candidate;
  candidate.text = candidate.unit = source;
  return candidate;
}

}  // namespace jaxkern
