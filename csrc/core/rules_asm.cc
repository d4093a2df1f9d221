// The rule on assembler: PTX in device code is a kernel's own business, an
// assembler for the host is not.
#include <algorithm>
#include <cctype>
#include <vector>

#include "core/rules.h"
#include "core/unit.h"

namespace jaxkern {
namespace {

using Kind = Token::Kind;

bool IsAsm(const std::string& word) {
  return word == "asm" || word == "__asm__" || word == "__asm";
}

/// Whether a declaration that holds this word is for the device: the words of
/// CUDA, macros for them, and what headers call such macros.
bool IsDeviceWord(const Unit& unit, const std::string& word, int depth = 0) {
  if (word == "__device__" || word == "__global__") return true;
  if (depth > 4) return false;
  for (const std::vector<Word>& body : unit.Macros(word)) {
    for (const Word& part : body) {
      if (IsDeviceWord(unit, part.text, depth + 1)) return true;
    }
  }
  return depth == 0 && unit.Macros(word).empty() &&
         (word.find("DEVICE") != std::string::npos ||
          word.find("CUDA_INLINE") != std::string::npos);
}

bool InDeviceCode(const Unit& unit, size_t at) {
  for (size_t block = unit.blocks()[at]; block != Unit::kNone;
       block = unit.blocks()[block]) {
    for (const std::string& word : unit.Head(block)) {
      if (IsDeviceWord(unit, word)) return true;
    }
  }
  return false;
}

/// All text between the parentheses, macros replaced by what they stand for.
std::string Template(const Unit& unit, const std::vector<Word>& words,
                     int depth = 0) {
  std::string text;
  for (const Word& word : words) {
    if (word.kind == Kind::kText) text += Unit::Value(word.text);
    if (word.kind != Kind::kIdentifier || depth > 4) continue;
    for (const std::vector<Word>& body : unit.Macros(word.text)) {
      text += Template(unit, body, depth + 1);
    }
  }
  return text;
}

/// Whether one of these directives of the host's assembler is there, which PTX
/// does not have.
bool HasDirective(const std::string& text,
                  std::initializer_list<const char*> directives) {
  for (const std::string directive : directives) {
    for (size_t at = text.find(directive); at != std::string::npos;
         at = text.find(directive, at + 1)) {
      const size_t end = at + directive.size();
      const auto is_word = [&](size_t i) {
        return std::isalnum(static_cast<unsigned char>(text[i])) != 0;
      };
      if ((at == 0 || !is_word(at - 1)) &&
          (end == text.size() || !is_word(end))) {
        return true;
      }
    }
  }
  return false;
}

/// Whether the asm there names what is declared before it, as in
/// `int f() asm("g");`, and is no statement.
bool IsLabel(const Unit& unit, size_t at) {
  if (at == 0) return false;
  const Word& before = unit.words()[at - 1];
  return before.text == ")" || before.text == "]" ||
         (before.kind == Kind::kIdentifier && before.text != "else" &&
          before.text != "do");
}

}  // namespace

std::optional<Breach> FindAsmBreach(const Unit& unit) {
  const std::vector<Word>& words = unit.words();
  for (size_t i = 0; i < words.size(); ++i) {
    if (!IsAsm(words[i].text)) continue;
    size_t open = i + 1;  // asm volatile goto (
    while (open < i + 4 && unit.Text(open) != "(") ++open;
    if (unit.Text(open) != "(") continue;
    const size_t close = unit.Closing(open);
    const std::vector<Word> inside(
        words.begin() + static_cast<long>(open),
        close == Unit::kNone ? words.end()
                             : words.begin() + static_cast<long>(close));
    const std::string text = Template(unit, inside);
    const bool reads = HasDirective(text, {".incbin", ".include"});
    const bool names =
        HasDirective(text, {".symver", ".pushsection", ".globl"});
    const std::string line = unit.Evidence(words[i]);
    if (reads || names) {
      return Breach{reads ? "opens_files" : "replaces_runtime", line,
                    "this assembler directive is not PTX"};
    }
    if (!words[i].directive && !InDeviceCode(unit, i)) {
      return Breach{IsLabel(unit, i) ? "replaces_runtime" : "tampers", line,
                    "inline assembler is for device code; this is host code"};
    }
  }
  return std::nullopt;
}

}  // namespace jaxkern
