#include "core/hopeless.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <vector>

#include "core/lexer.h"

namespace jaxkern {
namespace {

using Kind = Token::Kind;

constexpr size_t kNone = std::string::npos;
constexpr char kEnds[] =
    ", and the text ends first: was it cut off at the token limit?";

struct Word {
  const Token* token;
  int line;
};

/// Words of the code and of its directives, with their lines.
struct Text {
  std::vector<Token> tokens;
  std::vector<Word> code, directives;
  int open_comment_line = 0;  // of a /* without its */; 0: there is none
};

bool StartsWith(const std::string& text, const char* start) {
  return text.rfind(start, 0) == 0;
}

bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() &&
         text.compare(text.size() - end.size(), end.size(), end) == 0;
}

Text Read(const std::string& source) {
  Text text;
  text.tokens = Lex(source);
  int line = 1;
  for (const Token& token : text.tokens) {
    if (token.kind == Kind::kSpace) {
      if (StartsWith(token.text, "/*") &&
          (token.text.size() < 4 || !EndsWith(token.text, "*/"))) {
        text.open_comment_line = line;
      }
    } else {
      (token.directive ? text.directives : text.code).push_back({&token, line});
    }
    line += static_cast<int>(
        std::count(token.text.begin(), token.text.end(), '\n'));
  }
  return text;
}

/// Names that macros of the C library and of CUDA's headers have: of those that
/// drop what stands in their parentheses, or make strings of it.
bool MayBeMacro(const std::string& word) {
  return word == "assert" || word[0] == '_' ||
         std::none_of(word.begin(), word.end(),
                      [](unsigned char c) { return std::islower(c) != 0; });
}

/// And of those that open a bracket, or close one.
bool MayHoldBracket(const std::string& word) {
  if (StartsWith(word, "pthread_cleanup")) return true;
  for (const char* part : {"BEGIN", "END", "TRY", "CATCH", "OPEN", "CLOSE"}) {
    if (word.find(part) != kNone && MayBeMacro(word)) return true;
  }
  return false;
}

int Depth(const std::string& text) {
  if (text == "(" || text == "[" || text == "{") return 1;
  return text == ")" || text == "]" || text == "}" ? -1 : 0;
}

/// What the directives of a text do, as far as it matters here.
struct Directives {
  std::set<std::string> macros;  // with parameters or without
  bool pastes = false;           // words are made of parts
  bool includes_text = false;    // a header that is not the system's
  bool changes_brackets = false;
};

/// One that begins at `at`; the index after its end.
size_t ReadDirective(const std::vector<Word>& words, size_t at,
                     Directives* all) {
  const std::string name =
      at + 1 < words.size() ? Spelling(*words[at + 1].token) : "";
  const bool defines = name == "define";
  if (StartsWith(name, "if") || name == "undef") all->changes_brackets = true;
  int depth = 0;
  size_t i = at + 1;
  for (; i < words.size() && words[i].token->kind != Kind::kNewline; ++i) {
    const Token& token = *words[i].token;
    if (defines && i == at + 2) all->macros.insert(Spelling(token));
    if (token.text == "#" && words[i - 1].token->text == "#") {
      all->pastes = true;
    }
    if (token.kind == Kind::kText && StartsWith(name, "include") &&
        (token.text[0] == '"' || token.text.find("..") != kNone)) {
      all->includes_text = true;
    }
    depth += Depth(token.text);
    if (defines && (depth < 0 || MayHoldBracket(Spelling(token)))) {
      all->changes_brackets = true;
    }
  }
  if (defines && depth != 0) all->changes_brackets = true;
  return i + 1;
}

Directives ReadDirectives(const Text& text) {
  Directives all;
  for (size_t i = 0; i < text.directives.size();) {
    i = ReadDirective(text.directives, i, &all);
  }
  return all;
}

/// <% %> <: :> are brackets, and trigraphs may be.
bool MayBeBracket(const std::string& a, const std::string& b) {
  return (a == "<" && (b == "%" || b == ":")) ||
         ((a == "%" || a == ":") && b == ">") || (a == "?" && b == "?");
}

/// Whether the brackets that are seen are those that a compiler will see.
bool ShowsItsBrackets(const Text& text, const Directives& directives) {
  if (directives.changes_brackets || directives.includes_text) return false;
  for (size_t i = 0; i < text.code.size(); ++i) {
    const Token& token = *text.code[i].token;
    if (token.kind == Kind::kIdentifier && MayHoldBracket(Spelling(token))) {
      return false;
    }
    if (i > 0 && MayBeBracket(text.code[i - 1].token->text, token.text)) {
      return false;
    }
  }
  return true;
}

/// The index after the parentheses of a macro's call that opens at `open`; only
/// they count there. kNone if they do not close.
size_t AfterCall(const std::vector<Word>& code, size_t open) {
  int depth = 0;
  for (size_t i = open; i < code.size(); ++i) {
    const std::string& text = code[i].token->text;
    if (text == "(") ++depth;
    if (text == ")" && --depth == 0) return i + 1;
  }
  return kNone;
}

std::string Place(const Word& word) {
  return "line " + std::to_string(word.line) + ": ";
}

std::string Quoted(const Word& word) { return "'" + word.token->text + "'"; }

bool Closes(const Word& open, const Word& close) {
  return (open.token->text == "(" && close.token->text == ")") ||
         (open.token->text == "[" && close.token->text == "]") ||
         (open.token->text == "{" && close.token->text == "}");
}

/// Of those that are open at the end, the last and the first.
std::string Unclosed(const std::vector<Word>& open) {
  const Word &last = open.back(), &first = open.front();
  std::string message = Place(last) + Quoted(last) + " is never closed";
  if (open.size() > 1) {
    message += ", nor is the " + Quoted(first) + " of line " +
               std::to_string(first.line);
  }
  return message + kEnds;
}

/// What is wrong with a text's brackets and quotes; "" if nothing is.
std::string WrongBrackets(const std::vector<Word>& code,
                          const std::set<std::string>& macros) {
  std::vector<Word> open;
  for (size_t i = 0; i < code.size(); ++i) {
    const Token& token = *code[i].token;
    if (token.kind == Kind::kIdentifier && i + 1 < code.size() &&
        code[i + 1].token->text == "(") {
      const std::string word = Spelling(token);
      if (!MayBeMacro(word) && macros.count(word) == 0) continue;
      const size_t after = AfterCall(code, i + 1);
      if (after == kNone) {
        open.push_back(code[i + 1]);
        break;
      }
      i = after - 1;
      continue;
    }
    if (token.kind == Kind::kText && !IsClosed(token)) {
      const bool text = token.text.find('"') < token.text.find('\'');
      return Place(code[i]) + (text ? "a string" : "a character") +
             " is opened and not closed" + (IsRawText(token) ? kEnds : "");
    }
    const int depth = Depth(token.text);
    if (depth > 0) open.push_back(code[i]);
    if (depth >= 0) continue;
    if (open.empty())
      return Place(code[i]) + Quoted(code[i]) + " closes nothing";
    if (!Closes(open.back(), code[i])) {
      return Place(code[i]) + Quoted(code[i]) + " comes before the " +
             Quoted(open.back()) + " of line " +
             std::to_string(open.back().line) + " is closed";
    }
    open.pop_back();
  }
  return open.empty() ? "" : Unclosed(open);
}

bool HasWord(const Text& text, const std::string& wanted) {
  for (const auto* words : {&text.code, &text.directives}) {
    for (const Word& word : *words) {
      if (word.token->kind == Kind::kIdentifier &&
          Spelling(*word.token) == wanted) {
        return true;
      }
    }
  }
  return false;
}

/// Whether something could be named `launch`: by that word, an assembler name,
/// a word made of parts, an escaped letter or a header.
bool MayDefineLaunch(const Text& text, const Directives& directives) {
  if (directives.pastes || directives.includes_text) return true;
  if (HasWord(text, "launch")) return true;
  for (const Word& word : text.code) {
    const std::string& spelled = word.token->text;
    if (spelled == "\\") return true;
    if (word.token->kind == Kind::kText &&
        spelled.find("launch") != std::string::npos) {
      return true;
    }
  }
  return false;
}

/// A KernelBench-form candidate, which has another entry, or is Python.
bool IsOtherForm(const std::string& source) {
  return source.find("torch") != std::string::npos ||
         source.find("load_inline") != std::string::npos;
}

}  // namespace

std::optional<Hopeless> FindHopeless(const std::string& source,
                                     const std::string& signature) {
  if (IsOtherForm(source)) return std::nullopt;
  const Text text = Read(source);
  const Directives directives = ReadDirectives(text);
  const bool shown = ShowsItsBrackets(text, directives);
  std::string wrong;
  if (shown && text.open_comment_line > 0) {
    wrong = "line " + std::to_string(text.open_comment_line) +
            ": a comment is opened and not closed" + kEnds;
  } else if (shown) {
    wrong = WrongBrackets(text.code, directives.macros);
  }
  if (text.code.empty() && text.directives.empty() && wrong.empty()) {
    return Hopeless{Status::kExtractError, "extract",
                    "no kernel source: expected a CUDA C++ translation unit "
                    "that defines " +
                        signature + "\n"};
  }
  if (!wrong.empty()) {
    return Hopeless{Status::kCompileError, "compile", wrong + "\n"};
  }
  if (MayDefineLaunch(text, directives)) return std::nullopt;
  if (!HasWord(text, "__global__")) {
    return Hopeless{Status::kExtractError, "extract",
                    "no kernel: the text has neither a __global__ function nor "
                    "`launch`\nexpected a CUDA C++ translation unit that "
                    "defines " +
                        signature + "\n"};
  }
  return Hopeless{Status::kLinkError, "link",
                  "nothing in the text is named `launch`\nexpected the kernel "
                  "to define " +
                      signature + "\n"};
}

}  // namespace jaxkern
