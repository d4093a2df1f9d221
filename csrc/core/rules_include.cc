// The rule on headers: what a candidate may ask the preprocessor for.
#include <algorithm>
#include <array>
#include <vector>

#include "core/rules.h"
#include "core/unit.h"

namespace jaxkern {
namespace {

using Kind = Token::Kind;

// Headers that exist on a usual system and open a way out of a kernel. What
// does not exist is left to the compiler: a model may imagine a header.
constexpr std::array<const char*, 12> kSystem = {
    "dlfcn.h", "link.h", "elf.h",    "spawn.h", "fcntl.h", "ucontext.h",
    "glob.h",  "ftw.h",  "dirent.h", "netdb.h", "pwd.h",   "execinfo.h"};
constexpr std::array<const char*, 7> kSystemFolders = {
    "linux/", "asm/", "asm-generic/", "arpa/", "net/", "netinet/", "sys/"};
constexpr std::array<const char*, 4> kHarmless = {"sys/time.h", "sys/types.h",
                                                  "sys/cdefs.h", "sys/param.h"};

/// What is wrong with a header's name, without its quotes; "" if nothing.
std::string BadName(const std::string& name) {
  if (name.empty()) return "";
  if (name[0] == '/' || name[0] == '~' || name.find("..") == 0 ||
      name.find("/..") != std::string::npos ||
      name.find(":/") != std::string::npos) {
    return "a header is included by its name, not by a path";
  }
  const auto is = [&](const char* other) { return name == other; };
  const auto begins = [&](const char* prefix) {
    return name.rfind(prefix, 0) == 0;
  };
  if (std::any_of(kHarmless.begin(), kHarmless.end(), is)) return "";
  if (std::any_of(kSystem.begin(), kSystem.end(), is) ||
      std::any_of(kSystemFolders.begin(), kSystemFolders.end(), begins)) {
    return "`" + name + "` is no header of CUDA, C or C++";
  }
  return "";
}

/// <x> or "x" without its delimiters; "" if it is neither.
std::string Undressed(const std::string& text) {
  if (text.size() < 3 || (text[0] != '<' && text[0] != '"')) return "";
  return text.substr(1, text.size() - 2);
}

std::string Joined(const std::vector<Word>& words) {
  std::string text;
  for (const Word& word : words) text += word.text;
  return text;
}

/// What is wrong with an operand, which may be a macro's name; "" if nothing.
/// A name that is put together in a way this does not follow is refused.
std::string BadOperand(const Unit& unit, const std::vector<Word>& operand,
                       int depth = 0) {
  if (operand.empty()) return "";
  const std::string text = Joined(operand);
  if (text[0] == '<' || text[0] == '"') return BadName(Undressed(text));
  const char* computed = "the name of a header may not be computed";
  if (operand.size() > 1 || depth > 8) return computed;
  const auto bodies = unit.Macros(text);
  if (bodies.empty()) return computed;
  for (const std::vector<Word>& body : bodies) {
    const std::string bad = BadOperand(unit, body, depth + 1);
    if (!bad.empty()) return bad;
  }
  return "";
}

/// The words from `at` to the end of the line, or to a closing parenthesis.
std::vector<Word> Operand(const Unit& unit, size_t at) {
  std::vector<Word> operand;
  const std::vector<Word>& words = unit.words();
  for (; at < words.size() && words[at].kind != Kind::kNewline; ++at) {
    if (words[at].text == ")") break;
    operand.push_back(words[at]);
  }
  return operand;
}

std::string BadDirective(const Unit& unit, size_t at) {
  const std::string& word = unit.Text(at);
  if (word == "include_next" || word == "embed") {
    return "`#" + word + "` has no use in a kernel";
  }
  if (word != "include" && word != "import") return "";
  return BadOperand(unit, Operand(unit, at + 1));
}

}  // namespace

std::optional<Breach> FindIncludeBreach(const Unit& unit) {
  for (size_t i = 0; i + 1 < unit.words().size(); ++i) {
    std::string bad;
    if (unit.StartsDirective(i)) {
      bad = BadDirective(unit, i + 1);
    } else if (unit.words()[i].directive && unit.Text(i + 1) == "(") {
      const std::string& word = unit.Text(i);
      if (word == "__has_include" || word == "__has_include_next") {
        bad = BadOperand(unit, Operand(unit, i + 2));
      } else if (word == "__has_embed") {
        bad = "`__has_embed` has no use in a kernel";
      }
    }
    if (!bad.empty()) {
      return Breach{"include", unit.Evidence(unit.words()[i]), bad};
    }
  }
  return std::nullopt;
}

}  // namespace jaxkern
