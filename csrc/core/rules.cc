#include "core/rules.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "core/unit.h"

namespace jaxkern {
namespace {

using Kind = Token::Kind;

template <size_t N>
bool Contains(const std::array<const char*, N>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

constexpr char kOptions[] =
    "the compiler's floating-point options are the evaluator's";

/// Options under which the compiler may change the results.
bool IsFastMath(const std::string& options) {
  for (const char* part :
       {"fast-math", "Ofast", "unsafe-math", "finite-math", "associative-math",
        "reciprocal-math", "single-precision"}) {
    if (options.find(part) != std::string::npos) return true;
  }
  return false;
}

/// "__constructor__" and "constructor" are the same attribute.
std::string Plain(const std::string& word) {
  const bool dressed = word.size() > 4 && word.compare(0, 2, "__") == 0 &&
                       word.compare(word.size() - 2, 2, "__") == 0;
  return dressed ? word.substr(2, word.size() - 4) : word;
}

constexpr std::array<const char*, 4> kAtLoad = {"constructor", "destructor",
                                                "section", "init_priority"};
constexpr std::array<const char*, 3> kRenaming = {"alias", "ifunc", "weakref"};

/// A forbidden attribute between the brackets at `open` and `close`.
std::optional<Breach> BadAttribute(const Unit& unit, size_t open,
                                   size_t close) {
  bool optimize = false;
  for (size_t i = open; i < close && i < unit.words().size(); ++i) {
    const Word& word = unit.words()[i];
    const std::string name = Plain(word.text);
    // An attribute's name; what stands in its parentheses may be anything.
    const std::string& before = unit.Text(i - 1);
    const bool is_name =
        before == "(" || before == "," || before == ":" || before == "[";
    const bool at_load = is_name && Contains(kAtLoad, name);
    if (at_load || (is_name && Contains(kRenaming, name))) {
      return Breach{at_load ? "runs_at_load" : "replaces_runtime",
                    unit.Evidence(word),
                    "the attribute `" + name +
                        "` has no place in a kernel: everything happens in "
                        "`launch`"};
    }
    optimize |= is_name && name == "optimize";
    if (optimize && word.kind == Kind::kText && IsFastMath(word.text)) {
      return Breach{"fast_math", unit.Evidence(word), kOptions};
    }
  }
  return std::nullopt;
}

std::optional<Breach> FindAttributeBreach(const Unit& unit) {
  const std::vector<Word>& words = unit.words();
  for (size_t i = 0; i < words.size(); ++i) {
    const bool gnu =
        words[i].text == "__attribute__" || words[i].text == "__attribute";
    const bool standard = words[i].text == "[" && unit.Text(i + 1) == "[";
    if (!gnu && !standard) continue;
    const size_t open = standard ? i : i + 1;
    const size_t close = unit.Closing(open);
    if (auto breach = BadAttribute(unit, open + 1, close)) return breach;
  }
  return std::nullopt;
}

/// What is wrong with a pragma, given its words, but for the evidence.
std::optional<Breach> BadPragma(const std::vector<std::string>& words) {
  if (words.empty()) return std::nullopt;
  const std::string& first = words[0];
  if (first == "redefine_extname" || first == "weak") {
    return Breach{"replaces_runtime", "",
                  "`#pragma " + first + "` gives symbols other names"};
  }
  if (words.size() < 2 || (first != "GCC" && first != "clang")) {
    return std::nullopt;
  }
  if (words[1] == "dependency" || words[1] == "pch_preprocess") {
    return Breach{"opens_files", "",
                  "`#pragma " + first + " " + words[1] + "` looks at files"};
  }
  std::string options;
  for (size_t i = 2; i < words.size(); ++i) options += words[i];
  if (words[1] == "optimize" && IsFastMath(options)) {
    return Breach{"fast_math", "", kOptions};
  }
  return std::nullopt;
}

/// The words of `_Pragma("...")`, given the literal.
std::vector<std::string> PragmaWords(const std::string& literal) {
  std::vector<std::string> words;
  for (const Token& token : Lex(Unit::Value(literal))) {
    if (token.kind != Kind::kSpace) words.push_back(Spelling(token));
  }
  return words;
}

std::optional<Breach> FindPragmaBreach(const Unit& unit) {
  for (size_t i = 0; i < unit.words().size(); ++i) {
    std::vector<std::string> words;
    if (unit.StartsDirective(i) && unit.Text(i + 1) == "pragma") {
      for (size_t j = i + 2;
           j < unit.words().size() && unit.words()[j].kind != Kind::kNewline;
           ++j) {
        words.push_back(unit.Text(j));
      }
    } else if (unit.Text(i) == "_Pragma" || unit.Text(i) == "__pragma") {
      words = PragmaWords(unit.Text(i + 2));
    }
    if (auto breach = BadPragma(words)) {
      breach->evidence = unit.Evidence(unit.words()[i]);
      return breach;
    }
  }
  return std::nullopt;
}

std::optional<Breach> FindLineBreach(const Unit& unit) {
  for (size_t i = 0; i + 1 < unit.words().size(); ++i) {
    if (!unit.StartsDirective(i)) continue;
    if (unit.Text(i + 1) == "line" ||
        unit.words()[i + 1].kind == Kind::kNumber) {
      return Breach{"forges_lines", unit.Evidence(unit.words()[i]),
                    "line numbers are what messages are found by; "
                    "they may not be changed"};
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Breach> FindBreach(const std::string& source) {
  const Unit unit(source);
  for (const auto rule :
       {FindIncludeBreach, FindAsmBreach, FindAttributeBreach, FindPragmaBreach,
        FindLineBreach, FindSymbolBreach, FindLibraryBreach}) {
    if (auto breach = rule(unit)) return breach;
  }
  return std::nullopt;
}

}  // namespace jaxkern
