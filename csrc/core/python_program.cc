#include "core/python_program.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/lexer.h"

namespace jaxkern {
namespace {

using Kind = PythonToken::Kind;
using Tokens = std::vector<PythonToken>;
using Values = std::map<std::string, PythonValue>;

// More than anybody writes, and few enough for the stack and for the clock.
constexpr int kDeepest = 40;
constexpr size_t kMostCalls = 8;
// Characters and items of all values that a program's expressions come to: `a =
// a + a` twenty times is a million of the first.
constexpr size_t kMostWork = size_t{8} << 20;

bool Is(const Tokens& tokens, size_t at, const char* text) {
  return at < tokens.size() && tokens[at].kind != Kind::kText &&
         tokens[at].text == text;
}

bool IsKind(const Tokens& tokens, size_t at, Kind kind) {
  return at < tokens.size() && tokens[at].kind == kind;
}

bool Opens(const Tokens& tokens, size_t at) {
  return Is(tokens, at, "(") || Is(tokens, at, "[") || Is(tokens, at, "{");
}

bool Closes(const Tokens& tokens, size_t at) {
  return Is(tokens, at, ")") || Is(tokens, at, "]") || Is(tokens, at, "}");
}

/// The end of what begins at `at`: the next , or closing bracket, or the
/// statement's end.
size_t EndOfExpression(const Tokens& tokens, size_t at) {
  int depth = 0;
  for (; at < tokens.size(); ++at) {
    if (depth == 0 && (Closes(tokens, at) || Is(tokens, at, ",") ||
                       tokens[at].kind == Kind::kNewline)) {
      return at;
    }
    if (Opens(tokens, at)) ++depth;
    if (Closes(tokens, at)) --depth;
  }
  return at;
}

PythonValue Unsupported(const std::string& what, int line) {
  PythonValue value;
  value.kind = PythonValue::Kind::kUnsupported;
  value.why = what + " (line " + std::to_string(line) + ")";
  return value;
}

/// A method's call that drops blanks, which is nothing to C++.
bool IsHarmlessCall(const Tokens& tokens, size_t at) {
  return Is(tokens, at, ".") &&
         (Is(tokens, at + 1, "strip") || Is(tokens, at + 1, "lstrip") ||
          Is(tokens, at + 1, "rstrip")) &&
         Is(tokens, at + 2, "(") && Is(tokens, at + 3, ")");
}

size_t Size(const PythonValue& value) {
  size_t size = 1 + value.text.text.size();
  for (const PythonValue& item : value.items) size += Size(item);
  return size;
}

class Evaluator {
 public:
  /// *work is what of kMostWork is left.
  Evaluator(const Tokens& tokens, const Values& values, size_t* work)
      : tokens_(tokens), values_(values), work_(work) {}

  /// The expression at *at, which is moved behind it.
  PythonValue Expression(size_t* at) {
    const size_t end = EndOfExpression(tokens_, *at);
    PythonValue value = Term(at);
    while (*at < end) {
      if (Is(tokens_, *at, "+")) {
        ++*at;
        const int line = tokens_[*at - 1].line;
        value = Sum(std::move(value), Term(at), line);
      } else {
        value = Unfollowed(std::move(value), *at);
        *at = end;
      }
    }
    return value;
  }

  PythonValue Sum(PythonValue a, PythonValue b, int line) {
    if (a.kind == ValueKind::kUnsupported) return a;
    if (b.kind == ValueKind::kUnsupported) return b;
    if (a.kind != b.kind) return {};
    a.text.Add(b.text);
    a.items.insert(a.items.end(), b.items.begin(), b.items.end());
    return Paid(std::move(a), line);
  }

 private:
  using ValueKind = PythonValue::Kind;

  /// The value, if there is work left for one of its size.
  PythonValue Paid(PythonValue value, int line) {
    const size_t size = Size(value);
    if (size > *work_) {
      *work_ = 0;
      return Unsupported("more text than is followed", line);
    }
    *work_ -= size;
    return value;
  }

  /// Something that is done to a value by what stands at `at`.
  PythonValue Unfollowed(PythonValue value, size_t at) const {
    if (value.kind != ValueKind::kText) return value;
    const std::string what = Is(tokens_, at, ".") && at + 1 < tokens_.size()
                                 ? "." + tokens_[at + 1].text + "()"
                                 : "the operator " + tokens_[at].text;
    return Unsupported("a string changed by " + what, tokens_[at].line);
  }

  PythonValue Term(size_t* at) {
    PythonValue value = Primary(at);
    while (IsHarmlessCall(tokens_, *at)) *at += 4;
    return value;
  }

  void SkipBrackets(size_t* at) const {
    int depth = 0;
    for (; *at < tokens_.size(); ++*at) {
      if (Opens(tokens_, *at)) ++depth;
      if (Closes(tokens_, *at) && --depth == 0) {
        ++*at;
        return;
      }
    }
  }

  PythonValue Primary(size_t* at) {
    if (IsKind(tokens_, *at, Kind::kText)) return Literals(at);
    if (IsKind(tokens_, *at, Kind::kName)) return Name(at);
    if (Opens(tokens_, *at)) return Bracketed(at);
    if (*at < tokens_.size()) ++*at;
    return {};
  }

  /// Literals that stand side by side are one.
  PythonValue Literals(size_t* at) {
    PythonValue value;
    value.kind = ValueKind::kText;
    for (; IsKind(tokens_, *at, Kind::kText); ++*at) {
      const PythonToken& token = tokens_[*at];
      if (token.prefix.find('f') != std::string::npos) {
        value = Unsupported("an f-string", token.line);
      } else if (!token.closed) {
        value = Unsupported("a string without an end", token.line);
      }
      if (value.kind == ValueKind::kText) value.text.Add(token.value);
    }
    return value;
  }

  PythonValue Name(size_t* at) {
    std::string name = tokens_[(*at)++].text;
    const auto known = [&] { return values_.find(name) != values_.end(); };
    while (!known() && Is(tokens_, *at, ".") &&
           IsKind(tokens_, *at + 1, Kind::kName)) {
      name += "." + tokens_[*at + 1].text;
      *at += 2;
    }
    if (known()) return Paid(values_.at(name), tokens_[*at - 1].line);
    if (Is(tokens_, *at, "(")) {
      // Lines may begin further left: that is nothing to C++.
      if (name == "dedent" || name == "textwrap.dedent") return Bracketed(at);
      SkipBrackets(at);
    }
    return {};
  }

  /// (x) is x; else a list.
  PythonValue Bracketed(size_t* at) {
    const bool round = Is(tokens_, *at, "("), curly = Is(tokens_, *at, "{");
    PythonValue list;
    if (depth_ == kDeepest) {
      SkipBrackets(at);
      return list;
    }
    ++depth_;
    list.kind = ValueKind::kList;
    bool comma = false;
    ++*at;
    while (*at < tokens_.size() && !Closes(tokens_, *at)) {
      const size_t start = *at;
      list.items.push_back(curly ? Key(at) : Expression(at));
      if (Is(tokens_, *at, ",")) {
        comma = true;
        ++*at;
      }
      if (*at == start) ++*at;
    }
    if (*at < tokens_.size()) ++*at;
    --depth_;
    if (round && !comma && list.items.size() == 1) return list.items[0];
    return list;
  }

  PythonValue Key(size_t* at) {
    const PythonValue key = Term(at);
    *at = EndOfExpression(tokens_, *at);
    return key;
  }

  const Tokens& tokens_;
  const Values& values_;
  size_t* work_;
  int depth_ = 0;  // of brackets
};

/// `a`, `a.b`, `a: str` at a statement's start, up to its =; "" if there is no
/// such assignment. *at is moved behind the = then.
std::string Target(const Tokens& tokens, size_t* at, bool* adds) {
  size_t i = *at;
  if (!IsKind(tokens, i, Kind::kName)) return "";
  std::string name = tokens[i++].text;
  while (Is(tokens, i, ".") && IsKind(tokens, i + 1, Kind::kName)) {
    name += "." + tokens[i + 1].text;
    i += 2;
  }
  if (Is(tokens, i, ":") && IsKind(tokens, i + 1, Kind::kName)) i += 2;
  *adds = Is(tokens, i, "+");
  if (*adds) ++i;
  if (!Is(tokens, i, "=") || Is(tokens, i + 1, "=")) return "";
  *at = i + 1;
  return name;
}

InlineCall ReadCall(const Tokens& tokens, size_t at, const Values& values,
                    size_t* work) {
  InlineCall call;
  call.line = tokens[at].line;
  PythonValue name;
  PythonValue* const places[] = {&name, &call.cpp_sources, &call.cuda_sources,
                                 &call.functions};
  const std::string names[] = {"name", "cpp_sources", "cuda_sources",
                               "functions"};
  size_t position = 0;
  for (at += 2; at < tokens.size() && !Closes(tokens, at);) {
    PythonValue* place = position < 4 ? places[position] : nullptr;
    if (IsKind(tokens, at, Kind::kName) && Is(tokens, at + 1, "=")) {
      place = nullptr;
      for (size_t i = 0; i < 4; ++i) {
        if (tokens[at].text == names[i]) place = places[i];
      }
      at += 2;
    } else {
      ++position;
    }
    const size_t start = at;
    PythonValue value = Evaluator(tokens, values, work).Expression(&at);
    if (place != nullptr) *place = std::move(value);
    if (Is(tokens, at, ",") || at == start) ++at;
  }
  return call;
}

}  // namespace

PythonProgram::PythonProgram(const std::string& source)
    : tokens_(LexPython(source)) {
  Values values;
  size_t work = kMostWork;
  bool statement = true;
  for (size_t i = 0; i < tokens_.size(); ++i) {
    size_t at = i;
    bool adds = false;
    const std::string name = statement ? Target(tokens_, &at, &adds) : "";
    if (!name.empty()) {
      Evaluator evaluator(tokens_, values, &work);
      PythonValue value = evaluator.Expression(&at);
      if (adds) {
        value = evaluator.Sum(values[name], std::move(value), tokens_[i].line);
      }
      values[name] = std::move(value);
    }
    if (calls_.size() < kMostCalls && Is(tokens_, i, "load_inline") &&
        Is(tokens_, i + 1, "(") && !(i > 0 && Is(tokens_, i - 1, "def"))) {
      calls_.push_back(ReadCall(tokens_, i, values, &work));
    }
    statement = tokens_[i].kind == Kind::kNewline;
  }
}

bool PythonProgram::Calls(const std::string& name) const {
  for (size_t i = 1; i < tokens_.size(); ++i) {
    if (Is(tokens_, i, name.c_str()) && Is(tokens_, i - 1, ".") &&
        Is(tokens_, i + 1, "(")) {
      return true;
    }
  }
  return false;
}

namespace {

/// The tokens in [begin, end) as something that is passed.
PassedValue Passed(const Tokens& tokens, size_t begin, size_t end) {
  PassedValue value;
  const std::string sign = Is(tokens, begin, "-") ? "-" : "";
  const size_t at = begin + sign.size();
  if (end == at + 1 && IsKind(tokens, at, Kind::kNumber)) {
    value.literal = sign + tokens[at].text;
    value.literal.erase(
        std::remove(value.literal.begin(), value.literal.end(), '_'),
        value.literal.end());
  } else if (end == at + 1 &&
             (Is(tokens, at, "True") || Is(tokens, at, "False"))) {
    value.literal = Is(tokens, at, "True") ? "1" : "0";
  } else if (end > begin && IsKind(tokens, end - 1, Kind::kName)) {
    for (size_t i = begin; i < end; ++i) {
      const bool part = (i - begin) % 2 == 0 ? IsKind(tokens, i, Kind::kName)
                                             : Is(tokens, i, ".");
      if (!part) return value;
    }
    value.name = tokens[end - 1].text;
  }
  return value;
}

/// Numbers that are assigned once, e.g. `self.eps = 1e-5`, by the last part of
/// the name; "" if they are assigned again.
std::map<std::string, std::string> Numbers(const Tokens& tokens) {
  std::map<std::string, std::string> numbers;
  bool statement = true;
  for (size_t i = 0; i < tokens.size(); ++i) {
    size_t at = i;
    bool adds = false;
    const std::string target = statement ? Target(tokens, &at, &adds) : "";
    if (!target.empty()) {
      const std::string name = target.substr(target.rfind('.') + 1);
      const size_t end = EndOfExpression(tokens, at);
      const std::string number = Passed(tokens, at, end).literal;
      numbers[name] = numbers.count(name) != 0 ? "" : number;
    }
    statement = tokens[i].kind == Kind::kNewline;
  }
  return numbers;
}

}  // namespace

std::optional<std::vector<PassedValue>> PythonProgram::Passes(
    const std::string& name) const {
  std::optional<std::vector<PassedValue>> passed;
  const auto numbers = Numbers(tokens_);
  for (size_t i = 1; i < tokens_.size(); ++i) {
    if (!Is(tokens_, i, name.c_str()) || !Is(tokens_, i - 1, ".") ||
        !Is(tokens_, i + 1, "(")) {
      continue;
    }
    if (passed) return std::nullopt;
    passed.emplace();
    for (size_t at = i + 2; at < tokens_.size() && !Closes(tokens_, at);) {
      const size_t end = EndOfExpression(tokens_, at);
      PassedValue value = Passed(tokens_, at, end);
      const auto number = numbers.find(value.name);
      if (number != numbers.end()) value.literal = number->second;
      passed->push_back(std::move(value));
      at = Is(tokens_, end, ",") ? end + 1 : std::max(end, at + 1);
      if (Closes(tokens_, end)) break;
    }
  }
  return passed;
}

bool IsPython(const std::string& source) {
  // As C++ sees it: there, comments hide what they hold.
  int line = 1, last = 0;
  bool from = false;
  for (const Token& token : Lex(source)) {
    if (token.kind == Token::Kind::kIdentifier && !token.directive) {
      if (last != line && (token.text == "import" || token.text == "from")) {
        if (token.text == "import") return true;
        from = true;
      } else if (from && last == line && token.text == "import") {
        return true;
      } else if (last != line) {
        from = false;
      }
    }
    if (token.kind != Token::Kind::kSpace) last = line;
    line += static_cast<int>(
        std::count(token.text.begin(), token.text.end(), '\n'));
  }
  return false;
}

}  // namespace jaxkern
