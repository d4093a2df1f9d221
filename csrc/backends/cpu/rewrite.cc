#include "backends/cpu/rewrite.h"

#include <algorithm>
#include <vector>

#include "backends/cpu/declarators.h"
#include "core/lexer.h"
#include "core/token_walk.h"

namespace jaxkern {
namespace {

using Kind = Token::Kind;

/// Replaces one launch whose <<< is at `at` by one token and returns that
/// token's index; `at` if the launch is not well formed.
size_t RewriteLaunch(Tokens* tokens, size_t at) {
  const auto [callee, chevrons, close, open, end] = FindLaunch(*tokens, at);
  if (callee == kNone) return at;
  const std::string name = Text(*tokens, callee, chevrons);
  const std::string arguments = Text(*tokens, open + 1, end);
  const bool empty = Next(*tokens, open + 1) == end;
  // The kernel's name keeps its place, so its own line breaks come first.
  const std::string text =
      "::jaxkern_cpu::Launch(::jaxkern_cpu::Configuration(" +
      Text(*tokens, at + 1, close) + "), [=](auto... jaxkern_arguments) { " +
      name + "(jaxkern_arguments...); }" + (empty ? "" : ", ") +
      Lines(Text(*tokens, close, open), (*tokens)[at].directive) + arguments +
      ")";
  Token launch{Kind::kPunct, text, (*tokens)[at].directive};
  tokens->erase(tokens->begin() + static_cast<long>(callee),
                tokens->begin() + static_cast<long>(end) + 1);
  tokens->insert(tokens->begin() + static_cast<long>(callee), launch);
  return callee;
}

/// Marks tokens that stand inside a function or type: braces of namespaces and
/// of extern "C" do not count.
std::vector<bool> InsideBody(const Tokens& tokens) {
  std::vector<bool> inside(tokens.size());
  std::vector<bool> braces;  // whether each open brace counts
  int depth = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    inside[i] = depth > 0;
    if (tokens[i].directive) continue;
    if (tokens[i].text == "{") {
      const size_t a = Previous(tokens, i);
      const size_t b = a == kNone ? kNone : Previous(tokens, a);
      const bool scope = (a != kNone && (tokens[a].text == "namespace" ||
                                         tokens[a].text == "\"C\"")) ||
                         (b != kNone && tokens[b].text == "namespace");
      braces.push_back(!scope);
      depth += !scope;
    } else if (tokens[i].text == "}" && !braces.empty()) {
      depth -= braces.back();
      braces.pop_back();
    }
  }
  return inside;
}

bool IsAlignment(const std::string& word) {
  return word == "__align__" || word == "alignas" || word == "__attribute__" ||
         word == "__builtin_align__";
}

/// First token of the declaration that the token at `at` belongs to.
size_t DeclarationStart(const Tokens& tokens, size_t at) {
  size_t start = at;
  for (size_t i = Previous(tokens, at); i != kNone; i = Previous(tokens, i)) {
    if (tokens[i].text == ")") {
      const size_t open = Opening(tokens, i);
      const size_t word = open == kNone ? kNone : Previous(tokens, open);
      if (word == kNone || !IsAlignment(tokens[word].text)) break;
      i = word;
    }
    const std::string& text = tokens[i].text;
    if (text == ";" || text == "{" || text == "}" || text == ":" ||
        tokens[i].directive != tokens[at].directive) {
      break;
    }
    start = i;
  }
  return start;
}

/// Blanks `__align__(16)`, `alignas(16)` and `__attribute__((...))`.
void DropAlignment(Tokens* tokens, size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i) {
    if (!IsAlignment((*tokens)[i].text)) continue;
    const size_t open = Next(*tokens, i + 1);
    const size_t close =
        Is(*tokens, open, "(") ? Closing(*tokens, open) : kNone;
    if (close == kNone || close >= end) return;
    for (; i <= close; ++i) {
      (*tokens)[i] = {Kind::kSpace, Lines((*tokens)[i].text, false), false};
    }
  }
}

/// extern __shared__ T name[];
void RewriteDynamicShared(Tokens* tokens, size_t start, size_t at,
                          bool inside) {
  size_t end = at;
  while (end < tokens->size() && !Is(*tokens, end, ";")) ++end;
  size_t bracket = at;
  while (bracket < end && !Is(*tokens, bracket, "[")) ++bracket;
  const size_t name = bracket < end ? Previous(*tokens, bracket) : kNone;
  if (name == kNone || (*tokens)[name].kind != Kind::kIdentifier) return;
  const size_t close = Closing(*tokens, bracket);
  if (close == kNone || close >= end) return;
  for (size_t i = start; i < name; ++i) {
    if (Is(*tokens, i, "extern") || Is(*tokens, i, "__shared__")) {
      (*tokens)[i] = {Kind::kSpace, "", false};
    }
  }
  DropAlignment(tokens, start, name);
  // float s[][32] becomes a pointer to rows. At file scope the pointer is
  // found once per OS thread: blocks on one OS thread share the memory.
  const std::string& variable = (*tokens)[name].text;
  const std::string text =
      (inside ? "" : "JAXKERN_PER_RUNNER ") + Text(*tokens, start, name) +
      "(*" + variable + ")" + Text(*tokens, close + 1, end) +
      " = static_cast<decltype(" + variable + ")>(jaxkern_dynamic_shared(\"" +
      variable + "\", sizeof(*" + variable + ")))" +
      Lines(Text(*tokens, name, close), false);
  for (size_t i = start; i < end; ++i) {
    (*tokens)[i] = {Kind::kSpace, "", false};
  }
  (*tokens)[start].text = text;
}

/// Tells the checker the shapes of the arrays declared at `at`.
void AppendShapes(Tokens* tokens, size_t at, bool inside) {
  size_t end = at;
  int depth = 0;
  for (; end < tokens->size(); ++end) {
    const std::string& text = (*tokens)[end].text;
    if (text == "{") ++depth;
    if (text == "}") --depth;
    if (text == ";" && depth == 0) break;
  }
  if (end == tokens->size() || (*tokens)[at].directive) return;
  const char* macro = inside ? " JAXKERN_SHAPE(" : " JAXKERN_GLOBAL_SHAPE(";
  std::string shapes;
  for (const std::string& name : DeclaredNames(*tokens, at, end)) {
    shapes += macro + name + ")";
  }
  (*tokens)[end].text += shapes;
}

void RewriteShared(Tokens* tokens) {
  const std::vector<bool> inside = InsideBody(*tokens);
  for (size_t i = 0; i < tokens->size(); ++i) {
    if (!Is(*tokens, i, "__shared__")) continue;
    const size_t start = DeclarationStart(*tokens, i);
    bool is_extern = false, is_static = false;
    for (size_t j = start; j < tokens->size() && !Is(*tokens, j, ";"); ++j) {
      is_extern |= j < i + 8 && Is(*tokens, j, "extern");
      is_static |= j < i && Is(*tokens, j, "static");
    }
    if (is_extern) {
      RewriteDynamicShared(tokens, start, i, inside[i]);
    } else {
      AppendShapes(tokens, i, inside[i]);
      (*tokens)[i].text = is_static ? "thread_local" : "static thread_local";
    }
  }
}

void RewriteNoinline(Tokens* tokens) {
  for (size_t i = 0; i < tokens->size(); ++i) {
    if (!Is(*tokens, i, "__noinline__")) continue;
    const size_t before = Previous(*tokens, i);
    if (before != kNone &&
        (Is(*tokens, before, "(") || Is(*tokens, before, ","))) {
      continue;  // it is an attribute's name already
    }
    (*tokens)[i].text = "__attribute__((noinline))";
  }
}

}  // namespace

std::string RewriteCuda(const std::string& source) {
  Tokens tokens = Lex(source);
  RewriteShared(&tokens);
  RewriteNoinline(&tokens);
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].text == "<<<") i = RewriteLaunch(&tokens, i);
  }
  return Text(tokens, 0, tokens.size());
}

}  // namespace jaxkern
