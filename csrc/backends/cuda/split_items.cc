#include "backends/cuda/split_items.h"

#include <algorithm>
#include <array>

namespace jaxkern {
namespace {

using Kind = Token::Kind;

// This happens in the evaluator's own process, where no deadline ends it.
constexpr size_t kMostTokens = 100'000;

// Words whose parentheses are no function's parameters.
constexpr std::array<const char*, 13> kBracketed = {
    "__launch_bounds__", "__attribute__",     "alignas",
    "__align__",         "decltype",          "noexcept",
    "__maxnreg__",       "__cluster_dims__",  "__block_size__",
    "explicit",          "__grid_constant__", "requires",
    "__builtin_align__"};

// Words that are nobody's name.
constexpr std::array<const char*, 24> kKeywords = {
    "struct",   "class",    "union",  "enum",     "using",  "typedef",
    "typename", "const",    "public", "private",  "void",   "int",
    "float",    "double",   "char",   "short",    "long",   "bool",
    "signed",   "unsigned", "final",  "operator", "static", "auto"};

template <size_t N>
bool IsOneOf(const std::string& text, const std::array<const char*, N>& list) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

bool IsSpace(const Token& token) {
  return token.kind == Kind::kSpace || token.kind == Kind::kNewline;
}

bool IsCode(const Token& token) { return !token.directive && !IsSpace(token); }

class Reader {
 public:
  explicit Reader(const Tokens& tokens) : tokens_(tokens) {}

  Items Read() {
    if (tokens_.size() > kMostTokens) Obstacle("so long a text");
    found_.macros = FindMacros(tokens_, &found_.obstacle);
    for (size_t at = 0; at < tokens_.size() && found_.obstacle.empty();) {
      if (tokens_[at].directive) {
        at = Directive(at);
      } else if (IsSpace(tokens_[at])) {
        ++at;
      } else {
        at = Declaration(at);
      }
    }
    if (depth_ != 0) Obstacle("a namespace that does not end");
    return std::move(found_);
  }

 private:
  size_t Obstacle(const std::string& what) {
    if (found_.obstacle.empty()) found_.obstacle = what;
    return tokens_.size();
  }

  size_t Code(size_t at) const {
    while (at < tokens_.size() && !IsCode(tokens_[at])) ++at;
    return at;
  }

  size_t CodeBefore(size_t at) const {
    while (at-- > 0) {
      if (IsCode(tokens_[at])) return at;
    }
    return kNone;
  }

  std::string At(size_t at) const {
    return at < tokens_.size() ? Spelling(tokens_[at]) : "";
  }

  size_t Directive(size_t at);
  size_t Declaration(size_t at);
  size_t Namespace(size_t at);
  size_t Alias(size_t at);
  void NameAlias(Item* item);
  size_t General(size_t at);
  /// Reads on from `at`; the next token to look at, or size() if it gave up.
  size_t Step(Item* item, size_t at);
  size_t Parenthesis(Item* item, size_t at);
  size_t Brace(Item* item, size_t at);
  void AddWord(Item* item, const std::string& word, int nesting);
  void Classify(Item* item);
  void NameVariables(Item* item);
  size_t Push(Item item);
  bool ConditionsAreWhole(size_t begin, size_t end) const;

  const Tokens& tokens_;
  Items found_;
  int depth_ = 0;
  // Of the declaration at hand.
  bool assigned_ = false, class_ = false, class_body_ = false, ended_ = false;
  size_t class_open_ = kNone;
};

size_t Reader::Directive(size_t at) {
  Item item;
  item.kind = Item::Kind::kDirective;
  item.begin = at;
  while (at < tokens_.size() && tokens_[at].directive &&
         tokens_[at].kind != Kind::kNewline) {
    ++at;
  }
  if (at < tokens_.size() && tokens_[at].kind == Kind::kNewline) ++at;
  item.end = at;
  found_.items.push_back(std::move(item));
  return at;
}

size_t Reader::Push(Item item) {
  const size_t end = item.end;
  if (!ConditionsAreWhole(item.begin, end)) {
    return Obstacle("a condition that cuts through a declaration");
  }
  found_.items.push_back(std::move(item));
  return end;
}

size_t Reader::Declaration(size_t at) {
  Item item;
  item.kind = Item::Kind::kScope;
  item.begin = item.after_template = at;
  item.end = at + 1;
  const std::string text = At(at);
  const size_t second = Code(at + 1);
  if (text == ";") return Push(item);
  if (text == "}") {
    return --depth_ < 0 ? Obstacle("a } too many") : Push(item);
  }
  if (text == "namespace" || (text == "inline" && At(second) == "namespace")) {
    return Namespace(at);
  }
  if (text == "extern" && At(second) == "\"C\"" &&
      At(Code(second + 1)) == "{") {
    ++depth_;
    item.end = Code(second + 1) + 1;
    return Push(item);
  }
  if (text == "using" || text == "typedef" || text == "static_assert") {
    return Alias(at);
  }
  return General(at);
}

size_t Reader::Namespace(size_t at) {
  Item item;
  item.begin = item.after_template = at;
  for (size_t i = at; i < tokens_.size(); i = Code(i + 1)) {
    const std::string text = At(i);
    item.words.insert(text);
    item.end = i + 1;
    if (text == "{") {
      item.kind = Item::Kind::kScope;
      ++depth_;
      return Push(item);
    }
    if (text == ";") {
      item.kind = Item::Kind::kAlways;
      return Push(item);
    }
  }
  return Obstacle("a namespace that does not begin");
}

size_t Reader::Alias(size_t at) {
  Item item;
  item.begin = item.after_template = at;
  const bool whole = At(Code(at + 1)) == "namespace";
  item.kind = whole ? Item::Kind::kAlways : Item::Kind::kType;
  const bool nameless = At(at) == "static_assert";
  size_t i = at;
  for (; i < tokens_.size() && At(i) != ";"; i = Code(i + 1)) {
    const std::string text = At(i);
    if (text == "(" || text == "[" || text == "{") {
      const size_t close = Closing(tokens_, i);
      if (close == kNone) return Obstacle("brackets that do not close");
      for (size_t j = i; j < close; ++j) {
        if (tokens_[j].kind == Kind::kIdentifier) item.names.push_back(At(j));
      }
      i = close;
    } else if (tokens_[i].kind == Kind::kIdentifier &&
               !IsOneOf(text, kKeywords)) {
      item.names.push_back(text);
    }
  }
  if (i >= tokens_.size()) return Obstacle("a declaration that does not end");
  if (nameless || whole) item.names.clear();
  if (At(at) == "using" && !item.names.empty()) NameAlias(&item);
  item.end = i + 1;
  return Push(item);
}

/// using name = ...; using scope::name;
void Reader::NameAlias(Item* item) {
  const std::string last = item->names.back();
  item->names = {last};
  for (size_t i = item->begin; i < item->end; ++i) {
    if (At(i) != "=" || !IsCode(tokens_[i])) continue;
    item->names = {At(CodeBefore(i))};
    return;
  }
}

size_t Reader::General(size_t at) {
  Item item;
  item.begin = item.after_template = at;
  assigned_ = class_ = class_body_ = ended_ = false;
  class_open_ = kNone;
  for (size_t i = at; i < tokens_.size(); i = Code(i)) {
    i = Step(&item, i);
    if (!found_.obstacle.empty()) return tokens_.size();
    if (ended_) {
      item.end = i;
      Classify(&item);
      return found_.obstacle.empty() ? Push(std::move(item)) : tokens_.size();
    }
  }
  return Obstacle("a declaration that does not end");
}

size_t Reader::Step(Item* item, size_t at) {
  const std::string text = At(at);
  const Kind kind = tokens_[at].kind;
  if (text == "template" && At(Code(at + 1)) == "<") {
    const size_t close = ClosingAngle(tokens_, Code(at + 1));
    if (close == kNone) return Obstacle("template parameters");
    item->after_template = Code(close + 1);
    return item->after_template;
  }
  if (kind == Kind::kIdentifier) {
    class_ |= (text == "struct" || text == "class" || text == "union" ||
               text == "enum") &&
              item->parameters == kNone;
    item->operation |= text == "operator";
    if (!assigned_) AddWord(item, text, 0);
    return at + 1;
  }
  if (text == "(") return Parenthesis(item, at);
  if (text == "[") {
    const size_t close = Closing(tokens_, at);
    return close == kNone ? Obstacle("brackets that do not close") : close + 1;
  }
  if (text == "<" && !assigned_ && !item->operation) {
    const size_t close = ClosingAngle(tokens_, at);
    return close == kNone ? Obstacle("template arguments") : close + 1;
  }
  if (text == "=" && !(item->operation && item->parameters == kNone)) {
    assigned_ = true;
  }
  const size_t before = CodeBefore(at);
  const bool scope = text == ":" && (At(at + 1) == ":" ||
                                     (before != kNone && At(before) == ":"));
  if (text == ":" && !scope && !class_ && !assigned_) {
    return Obstacle("a constructor outside its class");
  }
  if (text == "{") return Brace(item, at);
  if (text == "}") return Obstacle("a } too many");
  ended_ = text == ";";
  return at + 1;
}

size_t Reader::Parenthesis(Item* item, size_t at) {
  const size_t close = Closing(tokens_, at);
  if (close == kNone) return Obstacle("brackets that do not close");
  size_t before = CodeBefore(at);
  if (before != kNone && At(before) == ">" && before > item->begin) {
    before = OpeningAngle(tokens_, before);  // of a specialisation
    if (before != kNone) before = CodeBefore(before);
  }
  const std::string name = before == kNone ? "" : At(before);
  if (assigned_ || item->parameters != kNone || IsOneOf(name, kBracketed)) {
    return close + 1;
  }
  if (name == "operator") return close + 1;  // operator()
  if (before == kNone || before < item->begin) {
    return Obstacle("a declarator in parentheses");
  }
  if (!item->operation && tokens_[before].kind != Kind::kIdentifier) {
    return Obstacle("a declarator in parentheses");
  }
  item->parameters = at;
  if (!item->operation) item->names = {name};
  const size_t scope = CodeBefore(before);
  if (scope != kNone && scope > item->begin && At(scope) == ":") {
    return Obstacle("a member that is defined outside its class");
  }
  return close + 1;
}

size_t Reader::Brace(Item* item, size_t at) {
  const size_t close = Closing(tokens_, at);
  if (close == kNone) return Obstacle("brackets that do not close");
  if (!assigned_ && item->parameters != kNone) {
    item->body = at;
    ended_ = true;
  } else if (class_ && !class_body_ && !assigned_) {
    class_body_ = true;
    class_open_ = at;
  }
  return close + 1;
}

/// Object-like macros of the head count as what they stand for.
void Reader::AddWord(Item* item, const std::string& word, int nesting) {
  const auto range = found_.macros.equal_range(word);
  if (!item->words.insert(word).second || range.first == range.second) return;
  if (nesting > 64 || std::next(range.first) != range.second ||
      range.first->second.function) {
    Obstacle("a macro in the head of a declaration");
    return;
  }
  for (const Token& token : range.first->second.body) {
    const std::string text = Spelling(token);
    if (token.kind == Kind::kIdentifier) {
      AddWord(item, text, nesting + 1);
    } else if (text == "{" || text == "}" || text == ";" || text == "=") {
      Obstacle("a macro in the head of a declaration");
    }
  }
}

void Reader::Classify(Item* item) {
  const bool function = item->parameters != kNone && !assigned_;
  item->kind = Item::Kind::kFunction;
  if (function) return;
  item->names.clear();
  const bool type = class_body_ || item->Has("using") ||
                    (class_ && item->words.size() <= 3 && !assigned_);
  item->kind = type ? Item::Kind::kType : Item::Kind::kVariable;
  if (!type) return NameVariables(item);
  // An enumeration's constants are names, too.
  const bool all = item->Has("enum");
  for (size_t i = item->after_template; i < item->end; ++i) {
    if (i == class_open_ && !all) i = Closing(tokens_, i);
    const bool name =
        tokens_[i].kind == Kind::kIdentifier && !IsOneOf(At(i), kKeywords);
    if (name) item->names.push_back(At(i));
  }
}

void Reader::NameVariables(Item* item) {
  bool value = false;  // what follows is a variable's value
  for (size_t i = item->after_template; i + 1 < item->end; i = Code(i + 1)) {
    const std::string text = At(i), after = At(Code(i + 1));
    if (text == "(" || text == "[" || text == "{") {
      i = Closing(tokens_, i);
      continue;
    }
    if (text == ",") value = false;
    value |= text == "=";
    if (value || tokens_[i].kind != Kind::kIdentifier ||
        IsOneOf(text, kKeywords)) {
      continue;
    }
    if (after == "[" || after == "=" || after == "," || after == ";" ||
        after == "{" || (after == "(" && !IsOneOf(text, kBracketed))) {
      item->names.push_back(text);
    }
  }
  if (item->names.empty()) Obstacle("a declaration without a name");
}

/// Whether all branches of conditions in there open and close as much.
bool Reader::ConditionsAreWhole(size_t begin, size_t end) const {
  int depth = 0;
  std::vector<int> before;
  for (size_t i = begin; i < end; ++i) {
    const std::string text = At(i);
    if (!tokens_[i].directive) {
      if (text == "{" || text == "(" || text == "[") ++depth;
      if (text == "}" || text == ")" || text == "]") --depth;
      continue;
    }
    if (text != "#" && text != "%:") continue;
    const std::string word = At(Next(tokens_, i + 1));
    if (word == "if" || word == "ifdef" || word == "ifndef") {
      before.push_back(depth);
    } else if (word == "else" || word == "elif" || word == "endif") {
      if (before.empty() || before.back() != depth) return false;
      if (word == "endif") before.pop_back();
    }
  }
  return before.empty();
}

}  // namespace

Items FindItems(const Tokens& tokens) { return Reader(tokens).Read(); }

}  // namespace jaxkern
