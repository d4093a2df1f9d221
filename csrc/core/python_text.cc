#include "core/python_text.h"

#include <cctype>
#include <cstdint>

namespace jaxkern {
namespace {

using Kind = PythonToken::Kind;

bool IsWordStart(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || (c & 0x80);
}

bool IsWord(char c) {
  return IsWordStart(c) || std::isdigit(static_cast<unsigned char>(c));
}

bool IsPrefix(const std::string& word) {
  if (word.empty() || word.size() > 2) return false;
  for (char c : word) {
    if (std::string("rbuf").find(c) == std::string::npos) return false;
  }
  return true;
}

std::string Lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(c));
  return text;
}

std::string Utf8(uint32_t code) {
  std::string bytes;
  if (code < 0x80) {
    bytes += static_cast<char>(code);
  } else if (code < 0x800) {
    bytes += static_cast<char>(0xc0 | (code >> 6));
    bytes += static_cast<char>(0x80 | (code & 63));
  } else if (code < 0x10000) {
    bytes += static_cast<char>(0xe0 | (code >> 12));
    bytes += static_cast<char>(0x80 | ((code >> 6) & 63));
    bytes += static_cast<char>(0x80 | (code & 63));
  } else {
    bytes += static_cast<char>(0xf0 | ((code >> 18) & 7));
    bytes += static_cast<char>(0x80 | ((code >> 12) & 63));
    bytes += static_cast<char>(0x80 | ((code >> 6) & 63));
    bytes += static_cast<char>(0x80 | (code & 63));
  }
  return bytes;
}

class Lexer {
 public:
  explicit Lexer(const std::string& source) : source_(source) {}

  std::vector<PythonToken> All() {
    while (at_ < source_.size()) One();
    EndStatement();
    return std::move(tokens_);
  }

 private:
  char Peek(size_t ahead = 0) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
  }

  void EndStatement() {
    if (!tokens_.empty() && tokens_.back().kind != Kind::kNewline) {
      tokens_.push_back({Kind::kNewline, "\n", line_, {}, "", true});
    }
  }

  void Emit(Kind kind, size_t end) {
    tokens_.push_back(
        {kind, source_.substr(at_, end - at_), line_, {}, "", true});
    at_ = end;
  }

  void One() {
    const char c = Peek();
    if (c == '\n') {
      if (depth_ == 0) EndStatement();
      ++line_;
      ++at_;
    } else if (c == '\\' && Peek(1) == '\n') {
      ++line_;
      at_ += 2;
    } else if (std::isspace(static_cast<unsigned char>(c))) {
      ++at_;
    } else if (c == '#') {
      while (at_ < source_.size() && Peek() != '\n') ++at_;
    } else if (IsWordStart(c)) {
      Word();
    } else if (std::isdigit(static_cast<unsigned char>(c)) ||
               (c == '.' &&
                std::isdigit(static_cast<unsigned char>(Peek(1))))) {
      Number();
    } else if (c == '"' || c == '\'') {
      Literal("");
    } else {
      if (c == '(' || c == '[' || c == '{') ++depth_;
      if ((c == ')' || c == ']' || c == '}') && depth_ > 0) --depth_;
      if (c == ';' && depth_ == 0) return EndStatement(), void(++at_);
      Emit(Kind::kPunct, at_ + 1);
    }
  }

  void Word() {
    size_t end = at_;
    while (end < source_.size() && IsWord(source_[end])) ++end;
    const std::string prefix = Lower(source_.substr(at_, end - at_));
    if (end < source_.size() && (source_[end] == '"' || source_[end] == '\'') &&
        IsPrefix(prefix)) {
      at_ = end;
      return Literal(prefix);
    }
    Emit(Kind::kName, end);
  }

  void Number() {
    size_t end = at_ + 1;
    while (end < source_.size()) {
      const char c = source_[end], before = source_[end - 1];
      const bool sign =
          (c == '+' || c == '-') && (before == 'e' || before == 'E');
      if (!IsWord(c) && c != '.' && !sign) break;
      ++end;
    }
    Emit(Kind::kNumber, end);
  }

  void Literal(const std::string& prefix) {
    const char quote = Peek();
    const bool triple = Peek(1) == quote && Peek(2) == quote;
    const bool raw = prefix.find('r') != std::string::npos;
    PythonToken token{Kind::kText, "", line_, {}, prefix, false};
    at_ += triple ? 3 : 1;
    while (at_ < source_.size()) {
      const char c = Peek();
      if (c == quote && (!triple || (Peek(1) == quote && Peek(2) == quote))) {
        at_ += triple ? 3 : 1;
        token.closed = true;
        break;
      }
      if (c == '\n' && !triple) break;
      if (c == '\\' && at_ + 1 < source_.size()) {
        Escape(raw, &token.value);
      } else {
        Take(&token.value);
      }
    }
    tokens_.push_back(std::move(token));
  }

  /// One character as it stands.
  void Take(PlacedText* value) {
    value->Add(Peek(), line_);
    if (Peek() == '\n') ++line_;
    ++at_;
  }

  void Escape(bool raw, PlacedText* value) {
    static const std::string from = "\\'\"abfnrtv";
    static const std::string to = "\\'\"\a\b\f\n\r\t\v";
    const size_t known = from.find(Peek(1));
    if (raw || Peek(1) == '\n') {
      Take(value);
      Take(value);
    } else if (known != std::string::npos) {
      value->Add(to[known], line_);
      at_ += 2;
    } else if (Peek(1) == 'x') {
      Code(2, 2, 16, value);
    } else if (Peek(1) == 'u') {
      Code(2, 4, 16, value);
    } else if (Peek(1) == 'U') {
      Code(2, 8, 16, value);
    } else if (Peek(1) >= '0' && Peek(1) <= '7') {
      Code(1, 3, 8, value);
    } else {
      Take(value);  // Python, too, leaves unknown ones as they are
      Take(value);
    }
  }

  /// A character by its number, whose digits begin `skip` characters on.
  void Code(size_t skip, size_t most, int base, PlacedText* value) {
    const std::string digits = base == 8 ? "01234567" : "0123456789abcdef";
    uint32_t code = 0;
    size_t used = 0;
    for (; used < most; ++used) {
      const size_t digit =
          digits.find(static_cast<char>(std::tolower(Peek(skip + used))));
      if (digit == std::string::npos || Peek(skip + used) == '\0') break;
      code = code * static_cast<uint32_t>(base) + static_cast<uint32_t>(digit);
    }
    for (char byte : Utf8(code)) value->Add(byte, line_);
    at_ += skip + used;
  }

  const std::string& source_;
  size_t at_ = 0;
  int line_ = 1;
  int depth_ = 0;  // of brackets, in which lines do not end statements
  std::vector<PythonToken> tokens_;
};

}  // namespace

std::vector<PythonToken> LexPython(const std::string& source) {
  return Lexer(source).All();
}

}  // namespace jaxkern
