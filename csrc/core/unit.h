/// A translation unit as the static rules see it: words with their places,
/// without comments, with its macros at hand. Nothing is expanded.
#ifndef JAXKERN_CORE_UNIT_H_
#define JAXKERN_CORE_UNIT_H_

#include <map>
#include <string>
#include <vector>

#include "core/lexer.h"

namespace jaxkern {

struct Word {
  Token::Kind kind;  ///< never kSpace
  std::string text;
  int line;
  bool directive;    ///< inside a preprocessor directive
  bool conditional;  ///< between #if and #endif
};

class Unit {
 public:
  static constexpr size_t kNone = std::string::npos;

  explicit Unit(const std::string& source);

  /// All words but those between `#if 0` and its end.
  const std::vector<Word>& words() const { return words_; }

  /// Whether the # (or %:) of a directive is there.
  bool StartsDirective(size_t at) const;

  /// "" beyond the end.
  const std::string& Text(size_t at) const;

  /// Index of the bracket that closes the one at `open`; kNone without one.
  size_t Closing(size_t open) const;

  /// For every word the index of the innermost { around it, kNone at file
  /// scope. Words of directives have none.
  const std::vector<size_t>& blocks() const { return blocks_; }

  /// What stands before the { at `open` since the last ; { or }.
  std::vector<std::string> Head(size_t open) const;

  /// Every definition of a macro of this name, without parameters.
  std::vector<std::vector<Word>> Macros(const std::string& name) const;

  /// "line 3: #include <x>", the source line that a word stands in.
  std::string Evidence(const Word& word) const;

  /// The text of a literal without prefix, quotes and escapes.
  static std::string Value(const std::string& literal);

 private:
  void AddWords(const std::string& source);
  void DropDeadCode();
  void FindMacros();
  void FindBlocks();

  std::vector<std::string> lines_;
  std::vector<Word> words_;
  std::vector<size_t> blocks_;
  std::multimap<std::string, std::vector<Word>> macros_;
};

}  // namespace jaxkern

#endif  // JAXKERN_CORE_UNIT_H_
