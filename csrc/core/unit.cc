#include "core/unit.h"

#include <algorithm>
#include <sstream>

namespace jaxkern {
namespace {

using Kind = Token::Kind;

constexpr size_t kEvidenceBytes = 160;

bool OpensCondition(const std::string& word) {
  return word == "if" || word == "ifdef" || word == "ifndef";
}

}  // namespace

Unit::Unit(const std::string& source) {
  std::istringstream stream(source);
  for (std::string line; std::getline(stream, line);) lines_.push_back(line);
  AddWords(source);
  DropDeadCode();
  FindMacros();
  FindBlocks();
}

void Unit::AddWords(const std::string& source) {
  int line = 1;
  bool in_directive = false;
  for (const Token& token : Lex(source)) {
    if (in_directive && !token.directive) {  // the file ended in one
      words_.push_back({Kind::kNewline, "\n", line, true, false});
    }
    in_directive = token.directive && token.kind != Kind::kNewline;
    if (token.kind != Kind::kSpace) {
      words_.push_back(
          {token.kind, Spelling(token), line, token.directive, false});
    }
    line += static_cast<int>(
        std::count(token.text.begin(), token.text.end(), '\n'));
  }
  if (in_directive) {
    words_.push_back({Kind::kNewline, "\n", line, true, false});
  }
}

/// Marks what is conditional, and leaves out what `#if 0` does. An #else or
/// #elif of such a group is alive.
void Unit::DropDeadCode() {
  std::vector<Word> alive;
  std::vector<bool> dead;  // for each open condition, whether its group is
  for (size_t i = 0; i < words_.size(); ++i) {
    const std::string word = StartsDirective(i) ? Text(i + 1) : "";
    if (OpensCondition(word)) {
      dead.push_back(word == "if" && Text(i + 2) == "0" && Text(i + 3) == "\n");
    } else if ((word == "else" || word == "elif") && !dead.empty()) {
      dead.back() = false;
    }
    const bool is_dead =
        std::find(dead.begin(), dead.end(), true) != dead.end();
    words_[i].conditional = !dead.empty();
    if (!is_dead) alive.push_back(words_[i]);
    if (word == "endif" && !dead.empty()) dead.pop_back();
  }
  words_ = std::move(alive);
}

void Unit::FindMacros() {
  for (size_t i = 0; i + 2 < words_.size(); ++i) {
    if (!StartsDirective(i) || words_[i + 1].text != "define") continue;
    std::vector<Word> body;
    for (size_t j = i + 3;
         j < words_.size() && words_[j].kind != Kind::kNewline; ++j) {
      body.push_back(words_[j]);
    }
    macros_.emplace(words_[i + 2].text, std::move(body));
  }
}

/// Every branch of a condition begins with the blocks that were open before it.
void Unit::FindBlocks() {
  std::vector<size_t> open;
  std::vector<std::vector<size_t>> before;
  blocks_.assign(words_.size(), kNone);
  for (size_t i = 0; i < words_.size(); ++i) {
    if (words_[i].directive) {
      if (!StartsDirective(i)) continue;
      const std::string& word = Text(i + 1);
      if (OpensCondition(word)) before.push_back(open);
      if ((word == "else" || word == "elif") && !before.empty()) {
        open = before.back();
      }
      if (word == "endif" && !before.empty()) before.pop_back();
      continue;
    }
    if (words_[i].text == "}" && !open.empty()) open.pop_back();
    blocks_[i] = open.empty() ? kNone : open.back();
    if (words_[i].text == "{") open.push_back(i);
  }
}

bool Unit::StartsDirective(size_t at) const {
  const Word& word = words_[at];
  return word.directive && (word.text == "#" || word.text == "%:") &&
         (at == 0 || words_[at - 1].kind == Kind::kNewline ||
          !words_[at - 1].directive);
}

const std::string& Unit::Text(size_t at) const {
  static const std::string none;
  return at < words_.size() ? words_[at].text : none;
}

size_t Unit::Closing(size_t open) const {
  int depth = 0;
  for (size_t i = open; i < words_.size(); ++i) {
    const std::string& text = words_[i].text;
    if (text == "(" || text == "[" || text == "{") ++depth;
    if (text == ")" || text == "]" || text == "}") --depth;
    if (depth == 0) return i;
  }
  return kNone;
}

std::vector<std::string> Unit::Head(size_t open) const {
  std::vector<std::string> head;
  for (size_t i = open; i-- > 0;) {
    const Word& word = words_[i];
    if (word.directive) continue;
    if (word.text == ";" || word.text == "{" || word.text == "}") break;
    head.push_back(word.text);
  }
  std::reverse(head.begin(), head.end());
  return head;
}

std::vector<std::vector<Word>> Unit::Macros(const std::string& name) const {
  std::vector<std::vector<Word>> found;
  const auto range = macros_.equal_range(name);
  for (auto it = range.first; it != range.second; ++it) {
    found.push_back(it->second);
  }
  return found;
}

std::string Unit::Evidence(const Word& word) const {
  std::string text = "line " + std::to_string(word.line) + ": ";
  if (static_cast<size_t>(word.line) <= lines_.size()) {
    const std::string& line = lines_[static_cast<size_t>(word.line) - 1];
    const size_t begin = line.find_first_not_of(" \t");
    const size_t end = line.find_last_not_of(" \t\r");
    if (begin != std::string::npos) text += line.substr(begin, end + 1 - begin);
  }
  text = text.substr(0, kEvidenceBytes);
  for (char& c : text) {
    if (c < 0x20 || c > 0x7e) c = c == '\t' ? ' ' : '?';
  }
  return text;
}

std::string Unit::Value(const std::string& literal) {
  const size_t quote = literal.find('"');
  if (quote == std::string::npos || literal.size() < quote + 2) return "";
  if (quote > 0 && literal[quote - 1] == 'R') {
    const size_t begin = literal.find('('), end = literal.rfind(')');
    return begin == std::string::npos || end <= begin
               ? ""
               : literal.substr(begin + 1, end - begin - 1);
  }
  std::string value;
  for (size_t i = quote + 1; i + 1 < literal.size(); ++i) {
    if (literal[i] == '\\') ++i;
    if (i + 1 < literal.size()) value += literal[i];
  }
  return value;
}

}  // namespace jaxkern
