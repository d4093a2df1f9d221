#include "backends/cpu/declarators.h"

namespace jaxkern {
namespace {

/// Brackets of all kinds; < counts where a type's arguments may begin.
class Nesting {
 public:
  void Read(const std::string& text, bool after_word) {
    const bool in_type = open_.empty() || open_.back() == '<';
    if (text == "(" || text == "[" || text == "{" ||
        (text == "<" && after_word && in_type)) {
      open_ += text;
    } else if (!open_.empty() && (text == ")" || text == "]" || text == "}" ||
                                  (text == ">" && open_.back() == '<'))) {
      open_.pop_back();
    }
  }
  bool none() const { return open_.empty(); }

 private:
  std::string open_;
};

}  // namespace

std::vector<std::string> DeclaredNames(const std::vector<Token>& tokens,
                                       size_t begin, size_t end) {
  std::vector<std::string> names;
  Nesting nesting;
  const Token* last = nullptr;  // that is not space
  bool named = false;           // the declarator at hand has had its name
  for (size_t i = begin; i <= end; ++i) {
    const Token& token = tokens[i];
    if (token.kind == Token::Kind::kSpace ||
        token.kind == Token::Kind::kNewline) {
      continue;
    }
    const std::string& text = token.text;
    const bool after_word = last && last->kind == Token::Kind::kIdentifier;
    if (nesting.none() && after_word && !named &&
        (text == "[" || text == "," || text == ";" || text == "=")) {
      names.push_back(last->text);
      named = true;
    }
    if (nesting.none() && text == ",") named = false;
    nesting.Read(text, after_word);
    last = &token;
  }
  return names;
}

}  // namespace jaxkern
