#include "backends/cuda/split_log.h"

#include <cctype>

namespace jaxkern {
namespace {

bool IsOfWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

}  // namespace

std::string Because(const std::string& what, const std::string& output) {
  const size_t error = output.find("error");
  if (error == std::string::npos) return what;
  const size_t begin = output.rfind('\n', error) + 1;
  return what + ": " + output.substr(begin, output.find('\n', error) - begin);
}

std::string UndefinedName(const std::string& log) {
  const size_t error = log.find("error:");
  if (error == std::string::npos) return "";
  const size_t begin = log.rfind('\n', error) + 1;
  const std::string line = log.substr(begin, log.find('\n', error) - begin);
  const std::string says = ": error: identifier \"", ends = "\" is undefined";
  const size_t at = line.find(says);
  const size_t name = at + says.size();
  if (at == std::string::npos || line.rfind("kernel.cu(", 0) != 0 ||
      line.size() <= name + ends.size() ||
      line.compare(line.size() - ends.size(), ends.size(), ends) != 0) {
    return "";
  }
  const std::string word = line.substr(name, line.size() - ends.size() - name);
  for (const char c : word) {
    if (!IsOfWord(c)) return "";
  }
  // Compilers have names that no header declares.
  return word.rfind("__", 0) == 0 ? "" : word;
}

bool HasWord(const std::string& text, const std::string& word) {
  for (size_t at = text.find(word); at != std::string::npos;
       at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !IsOfWord(text[at - 1])) &&
        (end == text.size() || !IsOfWord(text[end]))) {
      return true;
    }
  }
  return false;
}

}  // namespace jaxkern
