#include "core/lexer.h"

#include <algorithm>
#include <cctype>
#include <cstring>

namespace jaxkern {
namespace {

bool IsWordStart(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '$';
}

bool IsWord(char c) {
  return IsWordStart(c) || std::isdigit(static_cast<unsigned char>(c));
}

/// Length of a line join at `at` (a backslash, white space that g++ forgives,
/// and the line's end), else 0.
size_t Join(const std::string& source, size_t at) {
  if (source[at] != '\\') return 0;
  size_t end = at + 1;
  while (end < source.size() && source[end] != '\n' &&
         std::isspace(static_cast<unsigned char>(source[end]))) {
    ++end;
  }
  return end < source.size() && source[end] == '\n' ? end + 1 - at : 0;
}

bool IsIncludeWord(const std::string& word) {
  return word == "include" || word == "include_next" || word == "import" ||
         word == "embed";
}

bool IsIncludeQuestion(const std::string& word) {
  return word == "__has_include" || word == "__has_include_next" ||
         word == "__has_embed";
}

bool IsRawPrefix(const std::string& word) {
  return word == "R" || word == "u8R" || word == "uR" || word == "UR" ||
         word == "LR";
}

class Lexer {
 public:
  explicit Lexer(const std::string& source) : original_(source) {
    source_.reserve(source.size());
    origin_.reserve(source.size() + 1);
    for (size_t i = 0; i < source.size();) {
      if (const size_t n = Join(source, i)) {
        i += n;
        continue;
      }
      source_ += source[i];
      origin_.push_back(i++);
    }
    origin_.push_back(source.size());
  }

  std::vector<Token> All() {
    tokens_.reserve(source_.size() / 3);
    Space(0, origin_[0]);
    while (at_ < source_.size()) One();
    return std::move(tokens_);
  }

 private:
  bool Starts(const char* text) const {
    return source_.compare(at_, std::strlen(text), text) == 0;
  }

  /// A token of its own for the joins in [begin, end) of the original.
  void Space(size_t begin, size_t end) {
    if (begin == end) return;
    tokens_.push_back({Token::Kind::kSpace,
                       original_.substr(begin, end - begin), directive_});
  }

  void Emit(Token::Kind kind, size_t end) {
    if (end > source_.size()) end = source_.size();
    const size_t begin = origin_[at_];
    const size_t stop = origin_[end - 1] + 1;
    tokens_.push_back(
        {kind, original_.substr(begin, stop - begin), directive_});
    at_ = end;
    Space(stop, origin_[at_]);
  }

  /// The `back`th last token that is not space; nullptr if there is none.
  const Token* Before(int back) const {
    for (size_t i = tokens_.size(); i-- > 0;) {
      if (tokens_[i].kind == Token::Kind::kSpace) continue;
      if (tokens_[i].kind == Token::Kind::kNewline) return nullptr;
      if (back-- == 0) return &tokens_[i];
    }
    return nullptr;
  }

  /// Whether a < here begins a header's name.
  bool HeaderFollows() const {
    const Token* last = Before(0);
    const Token* before = Before(1);
    if (!directive_ || last == nullptr || before == nullptr) return false;
    if (before->text == "#" || before->text == "%:") {
      return IsIncludeWord(Spelling(*last));
    }
    return last->text == "(" && IsIncludeQuestion(Spelling(*before));
  }

  void One() {
    const char c = source_[at_];
    if (c == '\n') return Newline();
    if (std::isspace(static_cast<unsigned char>(c))) return Blanks();
    if (Starts("//")) return LineComment();
    if (Starts("/*")) {
      const size_t end = source_.find("*/", at_ + 2);
      return Emit(Token::Kind::kSpace,
                  end == std::string::npos ? source_.size() : end + 2);
    }
    const bool digraph = Starts("%:");
    if ((c == '#' || digraph) && line_empty_) directive_ = true;
    line_empty_ = false;
    if (digraph) return Emit(Token::Kind::kPunct, at_ + 2);
    if (c == '<' && HeaderFollows()) return Header();
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

  void Blanks() {
    size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != '\n' &&
           std::isspace(static_cast<unsigned char>(source_[end]))) {
      ++end;
    }
    Emit(Token::Kind::kSpace, end);
  }

  void Newline() {
    Emit(directive_ ? Token::Kind::kNewline : Token::Kind::kSpace, at_ + 1);
    directive_ = false;
    line_empty_ = true;
  }

  void LineComment() {
    const size_t end = source_.find('\n', at_);
    Emit(Token::Kind::kSpace, end == std::string::npos ? source_.size() : end);
  }

  void Header() {
    size_t end = at_;
    while (end < source_.size() && source_[end] != '\n' &&
           source_[end] != '>') {
      ++end;
    }
    const bool closed = end < source_.size() && source_[end] == '>';
    Emit(Token::Kind::kText, closed ? end + 1 : end);
  }

  void Word() {
    size_t end = at_;
    while (end < source_.size() && IsWord(source_[end])) ++end;
    // R"x(...)x", u8"...", L'c': a prefix belongs to its literal.
    if (end < source_.size() && (source_[end] == '"' || source_[end] == '\'')) {
      const std::string prefix = source_.substr(at_, end - at_);
      if (IsRawPrefix(prefix) && source_[end] == '"') return Raw(end);
      if (prefix == "u8" || prefix == "u" || prefix == "U" || prefix == "L") {
        return Literal(end);
      }
    }
    Emit(Token::Kind::kIdentifier, end);
  }

  /// Lines are not joined in there, so that its end is sought in the original.
  void Raw(size_t quote) {
    const size_t begin = origin_[quote];
    // A delimiter has at most 16 characters.
    const size_t open = original_.substr(begin, 18).find('(') + begin;
    if (open < begin) return Emit(Token::Kind::kText, quote + 1);
    const std::string close =
        ")" + original_.substr(begin + 1, open - begin - 1) + "\"";
    const size_t found = original_.find(close, open);
    size_t end = source_.size();
    if (found != std::string::npos) {
      const auto after = std::lower_bound(origin_.begin(), origin_.end(),
                                          found + close.size());
      end = static_cast<size_t>(after - origin_.begin());
    }
    Emit(Token::Kind::kText, end);
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

  const std::string& original_;
  std::string source_;          // with lines joined
  std::vector<size_t> origin_;  // where in the original its characters are
  size_t at_ = 0;
  bool directive_ = false;
  bool line_empty_ = true;  // nothing but space since the line began
  std::vector<Token> tokens_;
};

}  // namespace

std::string Spelling(const Token& token) {
  if (token.text.find('\\') == std::string::npos) return token.text;
  std::string text;
  for (size_t i = 0; i < token.text.size();) {
    if (const size_t n = Join(token.text, i)) {
      i += n;
    } else {
      text += token.text[i++];
    }
  }
  return text;
}

bool IsRawText(const Token& token) {
  const size_t quote = token.text.find('"');
  return quote != std::string::npos && quote > 0 &&
         token.text[quote - 1] == 'R';
}

bool IsClosed(const Token& token) {
  const std::string& literal = token.text;
  if (IsRawText(token)) {
    const size_t quote = literal.find('"'), open = literal.find('(');
    if (open == std::string::npos) return false;
    const std::string end =
        ")" + literal.substr(quote + 1, open - quote - 1) + "\"";
    return literal.size() > open + end.size() &&
           literal.compare(literal.size() - end.size(), end.size(), end) == 0;
  }
  const size_t quote = literal.find_first_of("\"'");
  if (quote == std::string::npos) return true;  // <header>
  if (literal.size() < quote + 2 || literal.back() != literal[quote]) {
    return false;
  }
  size_t slashes = 0;
  while (literal[literal.size() - 2 - slashes] == '\\') ++slashes;
  return slashes % 2 == 0;
}

std::vector<Token> Lex(const std::string& source) {
  return Lexer(source).All();
}

}  // namespace jaxkern
