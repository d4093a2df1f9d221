#include "backends/cuda/split_log.h"

#include <cctype>
#include <cstdlib>
#include <sstream>

namespace jaxkern {
namespace {

bool IsOfWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// Two lines, up to that one.
std::string LinesAt(int line, const std::string& text) {
  std::istringstream lines(text);
  std::string before, last;
  for (int i = 0; i < line; ++i) {
    before = std::move(last);
    std::getline(lines, last);
  }
  return before + "\n" + last;
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

std::vector<int> SyntaxErrors(const std::string& log) {
  const std::string place = "kernel.cu(", says = "): error: expected a";
  std::vector<int> found;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("error:") == std::string::npos) continue;
    const size_t end = line.find(says);
    if (end == std::string::npos || line.rfind(place, 0) != 0) return {};
    // What is no declaration may be the division's fault.
    if (line.find("declaration", end) != std::string::npos) return {};
    found.push_back(std::atoi(line.c_str() + place.size()));
  }
  return found;
}

bool AgreeAt(int line, const std::string& one, const std::string& other) {
  return LinesAt(line, one) == LinesAt(line, other);
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
