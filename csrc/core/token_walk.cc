#include "core/token_walk.h"

namespace jaxkern {
namespace {

using Kind = Token::Kind;

bool IsSpace(const Token& token) {
  return token.kind == Kind::kSpace || token.kind == Kind::kNewline;
}

}  // namespace

size_t Next(const Tokens& tokens, size_t at) {
  while (at < tokens.size() && IsSpace(tokens[at])) ++at;
  return at;
}

size_t Previous(const Tokens& tokens, size_t at) {
  while (at-- > 0) {
    if (!IsSpace(tokens[at])) return at;
  }
  return kNone;
}

bool Is(const Tokens& tokens, size_t at, const char* text) {
  return at < tokens.size() && tokens[at].text == text;
}

size_t Closing(const Tokens& tokens, size_t open) {
  int depth = 0;
  for (size_t i = open; i < tokens.size(); ++i) {
    const std::string& text = tokens[i].text;
    if (text == "(" || text == "[" || text == "{") ++depth;
    if (text == ")" || text == "]" || text == "}") --depth;
    if (depth == 0) return i;
  }
  return kNone;
}

size_t Opening(const Tokens& tokens, size_t close) {
  int depth = 0;
  for (size_t i = close + 1; i-- > 0;) {
    const std::string& text = tokens[i].text;
    if (text == ")" || text == "]" || text == "}") ++depth;
    if (text == "(" || text == "[" || text == "{") --depth;
    if (depth == 0) return i;
  }
  return kNone;
}

size_t OpeningAngle(const Tokens& tokens, size_t close) {
  int depth = 0;
  for (size_t i = close; i != kNone; i = Previous(tokens, i)) {
    const std::string& text = tokens[i].text;
    if (text == ")" || text == "]" || text == "}") {
      i = Opening(tokens, i);  // comparisons in there are not brackets
      if (i == kNone) return kNone;
    }
    if (text == ">") ++depth;
    if (text == ">>>") depth += 3;
    if (text == "<") --depth;
    if (depth == 0) return i;
    if (text == ";" || text == "{") return kNone;
  }
  return kNone;
}

size_t Callee(const Tokens& tokens, size_t chevrons) {
  size_t at = Previous(tokens, chevrons);
  if (at == kNone) return kNone;
  if (tokens[at].text == ")") {
    at = Opening(tokens, at);
    const size_t name = at == kNone ? kNone : Previous(tokens, at);
    const bool call = name != kNone && tokens[name].kind == Kind::kIdentifier &&
                      tokens[name].text != "else" && tokens[name].text != "do";
    return call ? name : at;  // KERNEL(suffix)<<<...>>>, a macro
  }
  for (;;) {
    if (tokens[at].text == "]") {  // kernels[i]
      at = Opening(tokens, at);
      if (at == kNone) return kNone;
      at = Previous(tokens, at);
    } else if (tokens[at].text == ">" || tokens[at].text == ">>>") {
      at = OpeningAngle(tokens, at);
      if (at == kNone) return kNone;
      at = Previous(tokens, at);
    }
    if (at == kNone || tokens[at].kind != Kind::kIdentifier) return kNone;
    size_t before = Previous(tokens, at);
    if (before != kNone && tokens[before].text == "template") {
      at = before;
      before = Previous(tokens, at);
    }
    // "::" and "->" are two tokens each.
    const size_t second = before == kNone ? kNone : Previous(tokens, before);
    if (before != kNone && tokens[before].text == ".") {
      at = second;
    } else if (second != kNone && tokens[before].text == ":" &&
               tokens[second].text == ":") {
      const size_t scope = Previous(tokens, second);
      if (scope == kNone ||
          (tokens[scope].kind != Kind::kIdentifier &&
           tokens[scope].text != ">") ||
          tokens[scope].text == "return") {
        return second;  // ::name
      }
      at = scope;
    } else if (second != kNone && tokens[before].text == ">" &&
               tokens[second].text == "-") {
      at = Previous(tokens, second);
    } else {
      return at;
    }
    if (at == kNone) return kNone;
  }
}

Launch FindLaunch(const Tokens& tokens, size_t chevrons) {
  Launch launch;
  launch.chevrons = chevrons;
  const size_t callee = Callee(tokens, chevrons);
  size_t close = chevrons;
  int depth = 0;
  for (; close < tokens.size(); ++close) {
    const std::string& text = tokens[close].text;
    if (text == "(" || text == "[" || text == "{") ++depth;
    if (text == ")" || text == "]" || text == "}") --depth;
    if (depth < 0 || text == ";") return launch;
    if (text == ">>>" && depth == 0) break;
  }
  const size_t open = Next(tokens, close + 1);
  if (callee == kNone || !Is(tokens, open, "(")) return launch;
  const size_t end = Closing(tokens, open);
  if (end == kNone) return launch;
  return {callee, chevrons, close, open, end};
}

std::string Text(const Tokens& tokens, size_t begin, size_t end) {
  std::string text;
  for (size_t i = begin; i < end; ++i) text += tokens[i].text;
  return text;
}

std::string Lines(const std::string& text, bool directive) {
  std::string lines;
  for (char c : text) {
    if (c == '\n') lines += directive ? "\\\n" : "\n";
  }
  return lines;
}

}  // namespace jaxkern
