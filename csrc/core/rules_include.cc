// The rule on headers: what a candidate may ask the preprocessor for.
#include <algorithm>
#include <array>
#include <vector>

#include "core/rules.h"
#include "core/unit.h"

namespace jaxkern {
namespace {

using Kind = Token::Kind;

/// A name, or the beginning of names if it ends with /, and the rule that one
/// breaks who includes it.
struct Header {
  const char* name;
  const char* rule;
};

// Headers that exist on a usual system and open a way out of a kernel. What
// does not exist is left to the compiler: a model may imagine a header.
constexpr Header kSystem[] = {
    {"dlfcn.h", "loads_code"},       {"link.h", "loads_code"},
    {"elf.h", "loads_code"},         {"execinfo.h", "loads_code"},
    {"spawn.h", "starts_processes"}, {"sys/wait.h", "starts_processes"},
    {"fcntl.h", "opens_files"},      {"glob.h", "opens_files"},
    {"ftw.h", "opens_files"},        {"dirent.h", "opens_files"},
    {"pwd.h", "opens_files"},        {"sys/stat.h", "opens_files"},
    {"netdb.h", "uses_network"},     {"sys/socket.h", "uses_network"},
    {"arpa/", "uses_network"},       {"net/", "uses_network"},
    {"netinet/", "uses_network"},    {"ucontext.h", "tampers"},
    {"linux/", "tampers"},           {"asm/", "tampers"},
    {"asm-generic/", "tampers"},     {"sys/", "tampers"}};
constexpr std::array<const char*, 4> kHarmless = {"sys/time.h", "sys/types.h",
                                                  "sys/cdefs.h", "sys/param.h"};

/// The rule that is broken, and what is wrong; both "" if nothing is.
struct Bad {
  std::string rule, message;
};

/// The compiler would read what is not a header.
Bad Reads(const std::string& message) { return {"opens_files", message}; }

/// About a header's name without its quotes.
Bad BadName(const std::string& name) {
  if (name.empty()) return {};
  if (name[0] == '/' || name[0] == '~' || name.find("..") == 0 ||
      name.find("/..") != std::string::npos ||
      name.find(":/") != std::string::npos) {
    return Reads("a header is included by its name, not by a path");
  }
  if (std::find(kHarmless.begin(), kHarmless.end(), name) != kHarmless.end()) {
    return {};
  }
  for (const auto& [known, rule] : kSystem) {
    const std::string start = known;
    if (name == start || (start.back() == '/' && name.rfind(start, 0) == 0)) {
      return {rule, "`" + name + "` is no header of CUDA, C or C++"};
    }
  }
  return {};
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

/// About an operand, which may be a macro's name. A name that is put together
/// in a way this does not follow is refused.
Bad BadOperand(const Unit& unit, const std::vector<Word>& operand,
               int depth = 0) {
  if (operand.empty()) return {};
  const std::string text = Joined(operand);
  if (text[0] == '<' || text[0] == '"') return BadName(Undressed(text));
  const Bad computed = Reads("the name of a header may not be computed");
  if (operand.size() > 1 || depth > 8) return computed;
  const auto bodies = unit.Macros(text);
  if (bodies.empty()) return computed;
  for (const std::vector<Word>& body : bodies) {
    const Bad bad = BadOperand(unit, body, depth + 1);
    if (!bad.rule.empty()) return bad;
  }
  return {};
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

Bad BadDirective(const Unit& unit, size_t at) {
  const std::string& word = unit.Text(at);
  if (word == "include_next" || word == "embed") {
    return Reads("`#" + word + "` has no use in a kernel");
  }
  if (word != "include" && word != "import") return {};
  return BadOperand(unit, Operand(unit, at + 1));
}

}  // namespace

std::optional<Breach> FindIncludeBreach(const Unit& unit) {
  for (size_t i = 0; i + 1 < unit.words().size(); ++i) {
    Bad bad;
    if (unit.StartsDirective(i)) {
      bad = BadDirective(unit, i + 1);
    } else if (unit.words()[i].directive && unit.Text(i + 1) == "(") {
      const std::string& word = unit.Text(i);
      if (word == "__has_include" || word == "__has_include_next") {
        bad = BadOperand(unit, Operand(unit, i + 2));
      } else if (word == "__has_embed") {
        bad = Reads("`__has_embed` has no use in a kernel");
      }
    }
    if (!bad.rule.empty()) {
      return Breach{bad.rule, unit.Evidence(unit.words()[i]), bad.message};
    }
  }
  return std::nullopt;
}

}  // namespace jaxkern
