/// Cuts Python text into tokens, with the values of its string literals. Enough
/// of the language to follow where a string goes; nothing is executed.
#ifndef JAXKERN_CORE_PYTHON_TEXT_H_
#define JAXKERN_CORE_PYTHON_TEXT_H_

#include <string>
#include <vector>

namespace jaxkern {

/// A text each of whose characters knows the line it was written in.
struct PlacedText {
  std::string text;
  std::vector<int> lines;

  void Add(char c, int line) {
    text += c;
    lines.push_back(line);
  }
  void Add(const PlacedText& more) {
    text += more.text;
    lines.insert(lines.end(), more.lines.begin(), more.lines.end());
  }
};

struct PythonToken {
  enum class Kind {
    kName,
    kNumber,
    kText,     ///< a string literal, of whichever quotes and prefix
    kPunct,    ///< one character
    kNewline,  ///< ends a statement
  };
  Kind kind;
  std::string text;  ///< as written, but for literals
  int line;
  /// Of literals: the value. A backslash that joins two lines stays in it with
  /// the line's end, as C++ means the same by it.
  PlacedText value;
  std::string prefix;  ///< of literals, in lower case: "rb", "f", ...
  bool closed = true;  ///< literals: their end was found
};

/// Comments and white space are left out. Never fails: what it does not know is
/// one kPunct a character.
std::vector<PythonToken> LexPython(const std::string& source);

}  // namespace jaxkern

#endif  // JAXKERN_CORE_PYTHON_TEXT_H_
