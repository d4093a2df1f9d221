/// Cuts CUDA C++ text into tokens. Enough of the language to know what is
/// code and what is a comment, a string or a directive; nothing is interpreted.
#ifndef JAXKERN_CORE_LEXER_H_
#define JAXKERN_CORE_LEXER_H_

#include <string>
#include <vector>

namespace jaxkern {

struct Token {
  enum class Kind {
    kSpace,       ///< white space, comments, line continuations
    kIdentifier,  ///< and keywords
    kNumber,
    kText,   ///< string and character literals, raw ones and <headers> included
    kPunct,  ///< one character, or <<<, >>> or %:
    kNewline  ///< ends a preprocessor directive; elsewhere it is kSpace
  };
  Kind kind;
  std::string text;
  bool directive;  ///< inside a preprocessor directive
};

/// The tokens' texts, concatenated, are `source`. Never fails: what it does
/// not know is one kPunct a character. As in C++, a backslash at a line's end
/// joins two lines before anything else is looked at, even within a word; it
/// stays in the token's text.
std::vector<Token> Lex(const std::string& source);

/// A token's text without the line joins in it.
std::string Spelling(const Token& token);

/// Whether a kText is a raw string.
bool IsRawText(const Token& token);

/// Whether a kText has its end: others stop where the line or the text does.
bool IsClosed(const Token& token);

}  // namespace jaxkern

#endif  // JAXKERN_CORE_LEXER_H_
