#include "core/torch_text.h"

#include <algorithm>
#include <map>
#include <set>

namespace jaxkern {
namespace {

using Kind = Token::Kind;

bool Starts(const std::string& text, const char* start) {
  return text.rfind(start, 0) == 0;
}

/// A function's name at file scope with its parameters in brackets behind it.
struct Function {
  std::string name;
  size_t open, close;  ///< of the parameters
  size_t start;        ///< of the declaration
  bool defined;
};

/// Where the declaration that `at` belongs to begins.
size_t DeclarationStart(const Unit& unit, size_t at) {
  while (at > 0) {
    const Word& before = unit.words()[at - 1];
    if (before.directive || before.text == ";" || before.text == "}" ||
        before.text == "{") {
      break;
    }
    --at;
  }
  return at;
}

/// Of each word, whether only namespaces and extern "C" are around it.
std::vector<bool> AtFileScope(const Unit& unit) {
  std::vector<bool> at_scope;
  std::map<size_t, bool> inside;  // by block
  for (const size_t block : unit.blocks()) {
    const auto known = inside.find(block);
    if (known != inside.end()) {
      at_scope.push_back(known->second);
      continue;
    }
    bool found = true;
    if (block != Unit::kNone) {
      const auto head = unit.Head(block);
      const auto has = [&](const char* word) {
        return std::find(head.begin(), head.end(), word) != head.end();
      };
      found = at_scope[block] && (has("namespace") || has("extern"));
    }
    at_scope.push_back(inside[block] = found);
  }
  return at_scope;
}

std::vector<Function> Functions(const Unit& unit) {
  std::vector<Function> functions;
  const std::vector<bool> at_scope = AtFileScope(unit);
  const auto& words = unit.words();
  for (size_t i = 1; i + 1 < words.size(); ++i) {
    if (words[i].directive || words[i].kind != Kind::kIdentifier ||
        words[i + 1].text != "(" || !at_scope[i]) {
      continue;
    }
    const size_t close = unit.Closing(i + 1);
    const std::string& before = unit.Text(i - 1);
    const bool type_before = words[i - 1].kind == Kind::kIdentifier ||
                             before == ">" || before == "&" || before == "*";
    if (close == Unit::kNone || !type_before || words[i - 1].directive) {
      continue;
    }
    const std::string& after = unit.Text(close + 1);
    if (after != "{" && after != ";") continue;
    functions.push_back(
        {words[i].text, i + 1, close, DeclarationStart(unit, i), after == "{"});
  }
  return functions;
}

bool Mentions(const Unit& unit, size_t begin, size_t end,
              const std::set<std::string>& wanted) {
  for (size_t i = begin; i < end; ++i) {
    if (wanted.count(unit.Text(i)) != 0) return true;
  }
  return false;
}

/// The last name in [begin, end) before a default, if it is not the type.
std::string ParameterName(const Unit& unit, size_t begin, size_t end) {
  size_t last = end;
  for (size_t i = begin; i < end; ++i) {
    if (unit.Text(i) == "=" || unit.Text(i) == "[") last = std::min(last, i);
  }
  const bool named =
      last > begin + 1 && unit.words()[last - 1].kind == Kind::kIdentifier &&
      unit.Text(last - 2) != ":" && unit.Text(last - 2) != "const";
  return named ? unit.Text(last - 1) : "";
}

/// What the C++ library has where.
const std::map<std::string, std::string>& StandardHeaders() {
  static const std::map<std::string, std::string> headers = [] {
    std::map<std::string, std::string> made = {
        {"numeric_limits", "limits"},
        {"accumulate", "numeric"},
        {"iota", "numeric"},
        {"function", "functional"},
        {"unordered_map", "unordered_map"},
        {"map", "map"},
        {"set", "set"},
        {"cout", "iostream"},
        {"cerr", "iostream"},
        {"endl", "iostream"},
        {"ostringstream", "sstream"},
        {"stringstream", "sstream"},
        {"string", "string"},
        {"to_string", "string"},
        {"mutex", "mutex"},
        {"unique_ptr", "memory"},
        {"shared_ptr", "memory"},
        {"make_unique", "memory"},
        {"make_shared", "memory"},
        {"sort", "algorithm"},
        {"clamp", "algorithm"},
        {"all_of", "algorithm"},
        {"any_of", "algorithm"},
        {"move", "utility"},
        {"forward", "utility"},
        {"swap", "utility"},
        {"min", "bits/stl_algobase.h"},
        {"max", "bits/stl_algobase.h"},
        {"fill", "bits/stl_algobase.h"},
        {"copy", "bits/stl_algobase.h"},
        {"equal", "bits/stl_algobase.h"},
        {"is_same", "type_traits"},
        {"is_same_v", "type_traits"},
        {"conditional_t", "type_traits"},
        {"enable_if_t", "type_traits"},
        {"decay_t", "type_traits"},
        {"is_floating_point", "type_traits"},
        {"runtime_error", "stdexcept"},
        {"invalid_argument", "stdexcept"},
        {"logic_error", "stdexcept"}};
    for (const char* name :
         {"sqrt", "exp",   "log",  "pow",  "abs",   "fabs",  "tanh",
          "ceil", "floor", "fmax", "fmin", "isnan", "isinf", "isfinite",
          "erf",  "log2",  "sin",  "cos",  "rsqrt", "round"}) {
      made[name] = "cmath";
    }
    return made;
  }();
  return headers;
}

/// A part of our headers and the words that ask for it.
struct Part {
  const char* macro;
  std::set<std::string> words;
};

const std::vector<Part>& Parts() {
  static const std::vector<Part> parts = {
      {"JAXKERN_TORCH_VECTOR",
       {"vector", "TensorList", "vec", "split", "chunk", "unbind"}},
      {"JAXKERN_TORCH_TUPLE",
       {"tuple", "tie", "make_tuple", "pair", "make_pair"}},
      {"JAXKERN_TORCH_ARRAY", {"array"}},
      {"JAXKERN_TORCH_OPTIONAL", {"optional", "nullopt"}},
  };
  return parts;
}

bool NamesHalf(const std::string& word) {
  for (const char* part : {"alf", "HALF", "float16", "Float16", "BF16"}) {
    if (word.find(part) != std::string::npos) return true;
  }
  return Starts(word, "AT_DISPATCH") && word.find("_AND") != std::string::npos;
}

}  // namespace

bool IncludesTorch(const Unit& unit) {
  for (size_t i = 0; i + 2 < unit.words().size(); ++i) {
    if (!unit.StartsDirective(i) || unit.Text(i + 1) != "include") continue;
    const std::string& header = unit.Text(i + 2);
    for (const char* place : {"torch/", "ATen/", "c10/"}) {
      if (header.size() > 1 && Starts(header.substr(1), place)) return true;
    }
  }
  return false;
}

std::vector<std::pair<std::string, std::string>> BoundFunctions(
    const Unit& unit) {
  std::vector<std::pair<std::string, std::string>> bound;
  const auto& words = unit.words();
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i].text != "PYBIND11_MODULE" || words[i].directive) continue;
    const size_t parameters = unit.Closing(i + 1);
    if (parameters == Unit::kNone || unit.Text(parameters + 1) != "{") continue;
    const size_t end = unit.Closing(parameters + 1);
    for (size_t j = parameters; j < std::min(end, words.size()); ++j) {
      // . def ( "name" , & ns :: function
      if (words[j].text != "def" || unit.Text(j + 1) != "(" ||
          unit.Text(j + 3) != ",") {
        continue;
      }
      size_t at = j + 4;
      if (unit.Text(at) == "&") ++at;
      std::string function;
      while (at < words.size() &&
             (words[at].kind == Kind::kIdentifier || words[at].text == ":")) {
        function += words[at++].text;
      }
      if (function.empty() || (unit.Text(at) != "," && unit.Text(at) != ")")) {
        continue;
      }
      bound.emplace_back(Unit::Value(unit.Text(j + 2)), function);
    }
  }
  return bound;
}

std::vector<std::string> TensorFunctions(const Unit& unit) {
  std::vector<std::string> found;
  std::set<std::string> seen;
  for (const Function& f : Functions(unit)) {
    if (!f.defined || !Mentions(unit, f.start, f.close, {"Tensor"}) ||
        Mentions(unit, f.start, f.open,
                 {"static", "template", "__global__", "__device__", "="})) {
      continue;
    }
    if (seen.insert(f.name).second) found.push_back(f.name);
  }
  if (found.size() < 2) return found;
  // One that another one calls is its helper.
  const std::vector<bool> at_scope = AtFileScope(unit);
  std::set<std::string> called;
  for (size_t i = 0; i + 1 < unit.words().size(); ++i) {
    if (!at_scope[i] && unit.Text(i + 1) == "(") called.insert(unit.Text(i));
  }
  std::vector<std::string> outermost;
  for (const std::string& name : found) {
    if (called.count(name) == 0) outermost.push_back(name);
  }
  return outermost.empty() ? found : outermost;
}

std::vector<std::string> ParameterNames(const Unit& unit,
                                        const std::string& function) {
  const std::string plain = function.substr(function.rfind(':') + 1);
  std::vector<std::string> best;
  for (const Function& f : Functions(unit)) {
    if (f.name != plain || (!best.empty() && !f.defined)) continue;
    std::vector<std::string> names;
    size_t begin = f.open + 1;
    int depth = 0;
    for (size_t i = begin; i <= f.close; ++i) {
      const std::string& text = unit.Text(i);
      if (text == "(" || text == "<" || text == "[" || text == "{") ++depth;
      if (depth > 0 &&
          (text == ")" || text == ">" || text == "]" || text == "}")) {
        --depth;
        continue;
      }
      if (depth == 0 && (text == "," || i == f.close) && i > f.open + 1) {
        names.push_back(ParameterName(unit, begin, i));
        begin = i + 1;
      }
    }
    best = std::move(names);
  }
  return best;
}

std::vector<std::string> TorchFlags(const Unit& unit) {
  std::set<std::string> words, standard;
  const auto& all = unit.words();
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].kind != Kind::kIdentifier) continue;
    words.insert(all[i].text);
    const bool scoped =
        i >= 3 && all[i - 1].text == ":" && all[i - 3].text == "std";
    if (scoped) standard.insert(all[i].text);
  }
  std::vector<std::string> flags;
  for (const Part& part : Parts()) {
    if (std::any_of(
            part.words.begin(), part.words.end(),
            [&](const std::string& word) { return words.count(word) != 0; })) {
      flags.push_back(std::string("-D") + part.macro);
    }
  }
  if (std::any_of(words.begin(), words.end(), NamesHalf)) {
    flags.emplace_back("-DJAXKERN_TORCH_HALF");
  }
  std::set<std::string> headers;
  for (const std::string& word : standard) {
    const auto found = StandardHeaders().find(word);
    if (found != StandardHeaders().end()) headers.insert(found->second);
  }
  for (const std::string& header : headers) {
    flags.insert(flags.end(), {"-include", header});
  }
  return flags;
}

}  // namespace jaxkern
