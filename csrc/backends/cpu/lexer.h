/// Cuts CUDA C++ text into tokens. Enough of the language to know what is
/// code and what is a comment, a string or a directive; nothing is interpreted.
#ifndef JAXKERN_BACKENDS_CPU_LEXER_H_
#define JAXKERN_BACKENDS_CPU_LEXER_H_

#include <string>
#include <vector>

namespace jaxkern {

struct Token {
  enum class Kind {
    kSpace,       ///< white space, comments, line continuations
    kIdentifier,  ///< and keywords
    kNumber,
    kText,    ///< string and character literals, raw ones included
    kPunct,   ///< one character, or <<< or >>>
    kNewline  ///< ends a preprocessor directive; elsewhere it is kSpace
  };
  Kind kind;
  std::string text;
  bool directive;  ///< inside a preprocessor directive
};

/// The tokens' texts, concatenated, are `source`. Never fails: what it does
/// not know is one kPunct a character.
std::vector<Token> Lex(const std::string& source);

}  // namespace jaxkern

#endif  // JAXKERN_BACKENDS_CPU_LEXER_H_
