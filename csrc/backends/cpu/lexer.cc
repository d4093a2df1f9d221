#include "backends/cpu/lexer.h"

#include <cctype>

namespace jaxkern {
namespace {

bool IsWordStart(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '$';
}

bool IsWord(char c) {
  return IsWordStart(c) || std::isdigit(static_cast<unsigned char>(c));
}

class Lexer {
 public:
  explicit Lexer(const std::string& source) : source_(source) {}

  std::vector<Token> All() {
    while (at_ < source_.size()) One();
    return std::move(tokens_);
  }

 private:
  bool Starts(const char* text) const {
    return source_.compare(at_, std::string(text).size(), text) == 0;
  }

  /// Length of a backslash-newline at `at`, else 0.
  size_t Continuation(size_t at) const {
    if (source_[at] != '\\') return 0;
    if (source_.compare(at + 1, 1, "\n") == 0) return 2;
    return source_.compare(at + 1, 2, "\r\n") == 0 ? 3 : 0;
  }

  void Emit(Token::Kind kind, size_t end) {
    if (end > source_.size()) end = source_.size();
    tokens_.push_back({kind, source_.substr(at_, end - at_), directive_});
    at_ = end;
  }

  void One() {
    const char c = source_[at_];
    if (c == '\n') return Newline();
    if (const size_t n = Continuation(at_)) {
      return Emit(Token::Kind::kSpace, at_ + n);
    }
    if (std::isspace(static_cast<unsigned char>(c))) {
      return Emit(Token::Kind::kSpace, at_ + 1);
    }
    if (Starts("//")) return LineComment();
    if (Starts("/*")) {
      const size_t end = source_.find("*/", at_ + 2);
      return Emit(Token::Kind::kSpace,
                  end == std::string::npos ? source_.size() : end + 2);
    }
    if (c == '#' && line_empty_) directive_ = true;
    line_empty_ = false;
    if (IsWordStart(c)) return Word();
    if (std::isdigit(static_cast<unsigned char>(c)) ||
        (c == '.' && at_ + 1 < source_.size() &&
         std::isdigit(static_cast<unsigned char>(source_[at_ + 1])))) {
      return Number();
    }
    if (c == '"' || c == '\'') return Literal(at_);
    if (Starts("<<<") || Starts(">>>")) {
      return Emit(Token::Kind::kPunct, at_ + 3);
    }
    Emit(Token::Kind::kPunct, at_ + 1);
  }

  void Newline() {
    Emit(directive_ ? Token::Kind::kNewline : Token::Kind::kSpace, at_ + 1);
    directive_ = false;
    line_empty_ = true;
  }

  void LineComment() {
    size_t end = at_;
    while (end < source_.size() && source_[end] != '\n') {
      const size_t n = Continuation(end);
      end += n ? n : 1;
    }
    Emit(Token::Kind::kSpace, end);
  }

  void Word() {
    size_t end = at_;
    while (end < source_.size() && IsWord(source_[end])) ++end;
    // R"x(...)x", u8"...", L'c': a prefix belongs to its literal.
    if (end < source_.size() && (source_[end] == '"' || source_[end] == '\'')) {
      const std::string prefix = source_.substr(at_, end - at_);
      if (prefix.back() == 'R' && source_[end] == '"') return Raw(end);
      if (prefix == "u8" || prefix == "u" || prefix == "U" || prefix == "L") {
        return Literal(end);
      }
    }
    Emit(Token::Kind::kIdentifier, end);
  }

  void Raw(size_t quote) {
    // A delimiter has at most 16 characters.
    const size_t open = source_.substr(quote, 18).find('(') + quote;
    if (open < quote) return Emit(Token::Kind::kText, quote + 1);
    const std::string close =
        ")" + source_.substr(quote + 1, open - quote - 1) + "\"";
    const size_t end = source_.find(close, open);
    Emit(Token::Kind::kText,
         end == std::string::npos ? source_.size() : end + close.size());
  }

  void Number() {
    size_t end = at_ + 1;
    while (end < source_.size()) {
      const char c = source_[end], before = source_[end - 1];
      const bool sign =
          (c == '+' || c == '-') &&
          (before == 'e' || before == 'E' || before == 'p' || before == 'P');
      const bool separator =
          c == '\'' && end + 1 < source_.size() && IsWord(source_[end + 1]);
      if (!IsWord(c) && c != '.' && !sign && !separator) break;
      // 0xe+1 is a sum.
      if (sign && source_.compare(at_, 2, "0x") == 0 &&
          (before == 'e' || before == 'E')) {
        break;
      }
      ++end;
    }
    Emit(Token::Kind::kNumber, end);
  }

  void Literal(size_t quote) {
    size_t end = quote + 1;
    while (end < source_.size() && source_[end] != source_[quote] &&
           source_[end] != '\n') {
      end += source_[end] == '\\' ? 2 : 1;
    }
    if (end < source_.size() && source_[end] == source_[quote]) ++end;
    Emit(Token::Kind::kText, end);
  }

  const std::string& source_;
  size_t at_ = 0;
  bool directive_ = false;
  bool line_empty_ = true;  // nothing but space since the line began
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> Lex(const std::string& source) {
  return Lexer(source).All();
}

}  // namespace jaxkern
