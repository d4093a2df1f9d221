// The names that a part of a text mentions, and the macros behind them.
#include <utility>

#include "backends/cuda/split_items.h"

namespace jaxkern {
namespace {

using Kind = Token::Kind;

/// The macro whose name is at `name`; *obstacle if its text is not what it
/// seems.
Macro ReadMacro(const Tokens& tokens, size_t name, size_t end,
                std::string* obstacle) {
  Macro macro;
  macro.function = Is(tokens, name + 1, "(");
  int depth = 0;
  for (size_t i = name + 1; i < end; ++i) {
    const std::string text = Spelling(tokens[i]);
    if (tokens[i].kind == Kind::kSpace) continue;
    macro.body.push_back(tokens[i]);
    if (text == "(" || text == "[" || text == "{") ++depth;
    if (text == ")" || text == "]" || text == "}") --depth;
    if (depth < 0) break;
    if (text == "#" && Is(tokens, i + 1, "#")) {
      *obstacle = "a macro that pastes names";
    }
  }
  if (depth != 0) *obstacle = "a macro with half of a pair of brackets";
  return macro;
}

}  // namespace

bool Item::IsDevice() const {
  return Has("__device__") || Has("__constant__") || Has("__managed__") ||
         Has("__shared__") || IsKernel();
}

std::multimap<std::string, Macro> FindMacros(const Tokens& tokens,
                                             std::string* obstacle) {
  std::multimap<std::string, Macro> macros;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (!tokens[i].directive || Spelling(tokens[i]) != "define") continue;
    const size_t hash = Previous(tokens, i);
    if (hash == kNone || (!Is(tokens, hash, "#") && !Is(tokens, hash, "%:")))
      continue;
    const size_t name = Next(tokens, i + 1);
    size_t end = name;
    while (end < tokens.size() && tokens[end].directive &&
           tokens[end].kind != Kind::kNewline) {
      ++end;
    }
    if (name >= end) continue;
    macros.emplace(Spelling(tokens[name]),
                   ReadMacro(tokens, name, end, obstacle));
  }
  return macros;
}

size_t ClosingAngle(const Tokens& tokens, size_t open) {
  int depth = 0;
  for (size_t i = open; i < tokens.size(); ++i) {
    const std::string& text = tokens[i].text;
    if (tokens[i].directive) return kNone;
    if (text == "(" || text == "[" || text == "{") {
      i = Closing(tokens, i);
      if (i == kNone) return kNone;
    } else if (text == "<") {
      ++depth;
    } else if (text == ">" || text == ">>>") {
      const size_t before = Previous(tokens, i);
      if (before != kNone && tokens[before].text == "-") return kNone;
      depth -= text == ">" ? 1 : 3;
      if (depth == 0) return i;
      if (depth < 0) return kNone;
    } else if (text == ";" || text == "<<<" || text == "}") {
      return kNone;
    }
  }
  return kNone;
}

std::set<std::string> Mentions(
    const Tokens& tokens, size_t begin, size_t end,
    const std::multimap<std::string, Macro>& macros) {
  std::set<std::string> names;
  std::vector<std::string> fresh;
  const auto add = [&](const std::string& name) {
    if (names.insert(name).second) fresh.push_back(name);
  };
  for (size_t i = begin; i < end; ++i) {
    if (tokens[i].kind != Kind::kIdentifier) continue;
    const size_t before = Previous(tokens, i);
    const size_t dash = before == kNone ? kNone : Previous(tokens, before);
    const bool member = before != kNone && before >= begin &&
                        (tokens[before].text == "." ||
                         (tokens[before].text == ">" && dash != kNone &&
                          tokens[dash].text == "-"));
    if (!member) add(Spelling(tokens[i]));
  }
  while (!fresh.empty()) {
    const auto range = macros.equal_range(fresh.back());
    fresh.pop_back();
    for (auto it = range.first; it != range.second; ++it) {
      for (const Token& token : it->second.body) {
        if (token.kind == Kind::kIdentifier) add(Spelling(token));
      }
    }
  }
  return names;
}

}  // namespace jaxkern
