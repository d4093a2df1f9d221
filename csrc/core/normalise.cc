#include "core/normalise.h"

#include <cctype>
#include <cstring>
#include <utility>
#include <vector>

#include "core/lexer.h"

namespace jaxkern {
namespace {

using Kind = Token::Kind;

bool StartsWith(const std::string& text, const char* start) {
  return text.rfind(start, 0) == 0;
}

/// Words that put a line's number, or where code stands, into what is built.
/// Those of PyTorch do so in the messages of its exceptions.
bool TellsItsPlace(const std::string& word) {
  for (const char* start : {"__TIME", "__DATE", "TORCH_", "AT_", "C10_"}) {
    if (StartsWith(word, start)) return true;
  }
  for (const char* known :
       {"__LINE__", "__FILE__", "assert", "source_location", "__builtin_LINE",
        "__builtin_FILE", "__builtin_COLUMN", "__builtin_source_location"}) {
    if (word == known) return true;
  }
  return false;
}

/// Where readers of C++ differ: trigraphs, white space between a backslash and
/// the line's end, carriage returns within lines.
bool IsDisputed(const std::string& text) {
  if (text.find("?\?/") != std::string::npos) return true;
  for (size_t i = 0; i < text.size(); ++i) {
    const char next = i + 1 < text.size() ? text[i + 1] : '\n';
    if (text[i] == '\r' && next != '\n') return true;
    if (text[i] != '\\' || next == '\n' || !std::isspace(next)) continue;
    const size_t end = text.find_first_not_of(" \t\v\f\r", i + 1);
    if (end != std::string::npos && text[end] == '\n') return true;
  }
  return false;
}

/// White space of one run, with the line joins in it taken out.
std::string WithoutJoins(const std::string& run) {
  std::string kept;
  for (size_t i = 0; i < run.size(); ++i) {
    if (run[i] == '\\' && i + 1 < run.size() && run[i + 1] == '\n') {
      ++i;
    } else {
      kept += run[i];
    }
  }
  return kept;
}

/// Whether macros of this text turn their arguments into strings, which shows
/// the white space between tokens.
bool MakesStrings(const std::vector<Token>& tokens) {
  bool first = true;  // of a directive
  for (const Token& token : tokens) {
    if (token.kind == Kind::kSpace) continue;
    const bool sharp = token.text == "#" || token.text == "%:";
    if (token.directive && sharp && !first) return true;
    first = !token.directive || token.kind == Kind::kNewline;
  }
  return false;
}

/// Whether they make words, which may tell places, of parts.
bool PastesWords(const std::vector<Token>& tokens) {
  for (size_t i = 1; i < tokens.size(); ++i) {
    if (tokens[i].directive && tokens[i].text == "#" &&
        tokens[i - 1].text == "#") {
      return true;
    }
  }
  return false;
}

bool IsSeparator(const Token& token) {
  return token.kind == Kind::kPunct && token.text.size() == 1 &&
         std::strchr(";{}(),", token.text[0]) != nullptr;
}

bool IsUnclosedComment(const Token& token) {
  const std::string& text = token.text;
  return token.kind == Kind::kSpace && StartsWith(text, "/*") &&
         (text.size() < 4 || text.compare(text.size() - 2, 2, "*/") != 0);
}

class Writer {
 public:
  explicit Writer(bool keep_spaces) : keep_spaces_(keep_spaces) {}

  void Add(const Token& token) {
    if (token.kind == Kind::kSpace) {
      run_ += StartsWith(token.text, "/") ? " " : token.text;
      return;
    }
    if (token.kind == Kind::kNewline) {
      run_.clear();
      Newline();
      in_directive_ = false;
      return;
    }
    // Which a line's beginning makes of a #.
    if (token.directive && !in_directive_) Newline();
    in_directive_ = token.directive;
    Space(IsSeparator(token));
    text_ += token.text;
    after_separator_ = IsSeparator(token);
  }

  std::string Text() { return std::move(text_); }

 private:
  void Newline() {
    if (!text_.empty() && text_.back() != '\n') text_ += '\n';
    run_.clear();
  }

  void Space(bool before_separator) {
    const std::string run = std::exchange(run_, "");
    if (run.empty() || text_.empty() || text_.back() == '\n') return;
    if (WithoutJoins(run).empty()) {
      text_ += run;  // which may join two tokens
    } else if (in_directive_ || keep_spaces_ ||
               !(before_separator || after_separator_)) {
      text_ += ' ';
    }
  }

  const bool keep_spaces_;
  std::string text_, run_;
  bool in_directive_ = false, after_separator_ = false;
};

}  // namespace

std::optional<std::string> Normalise(const std::string& text) {
  if (IsDisputed(text)) return std::nullopt;
  const std::vector<Token> tokens = Lex(text);
  if (PastesWords(tokens)) return std::nullopt;
  for (const Token& token : tokens) {
    if (IsUnclosedComment(token)) return std::nullopt;
    if (token.kind == Kind::kText && !IsClosed(token)) return std::nullopt;
    // Before a line's end it would join two lines.
    if (token.kind == Kind::kPunct && token.text == "\\") return std::nullopt;
    if (token.kind == Kind::kIdentifier && TellsItsPlace(Spelling(token))) {
      return std::nullopt;
    }
  }
  Writer writer(MakesStrings(tokens));
  for (const Token& token : tokens) writer.Add(token);
  return writer.Text();
}

}  // namespace jaxkern
