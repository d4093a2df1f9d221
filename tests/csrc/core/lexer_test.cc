#include "core/lexer.h"

#include "check.h"

namespace {

using jaxkern::Lex;
using jaxkern::Token;

/// The texts of all tokens that are not space, between bars.
std::string Words(const std::string& source) {
  std::string words = "|";
  for (const Token& token : Lex(source)) {
    if (token.kind == Token::Kind::kSpace) continue;
    if (token.kind == Token::Kind::kNewline) continue;
    words += token.text + "|";
  }
  return words;
}

TEST(TokensAddUpToTheSource) {
  for (const std::string source :
       {"int a = 1; // b\n\t#define X \\\n 2\n\"c\\\"\" 'd' /* e\n */ >>> <<<",
        "\\\na\\ \nb", "#include <a//b> // c\n%:\\\n", "R\"(a\\\nb)\" c",
        "R\"(unclosed", "/* unclosed", "\"unclosed\nx", "\\", "", "\r\n@`"}) {
    std::string all;
    for (const Token& token : Lex(source)) all += token.text;
    CHECK_EQ(all, source);
  }
}

TEST(CommentsAreSpace) {
  CHECK_EQ(Words("a//b <<<\nc/*d\n*/e//f \\\n g\nh"), "|a|c|e|h|");
}

TEST(JoinedLinesAreOneLine) {
  std::string words = "|";
  for (const Token& token : Lex("in\\\nt a /\\\n/ b\n/\\\n* c *\\\n/ d")) {
    if (token.kind == Token::Kind::kSpace) continue;
    words += jaxkern::Spelling(token) + "|";
  }
  CHECK_EQ(words, "|int|a|d|");
  CHECK_EQ(Words("a)\\\n<<<b"), "|a|)|<<<|b|");
}

TEST(HeaderNamesAreOneToken) {
  CHECK_EQ(Words("#include <a//b>\n# include_next <c'd>\na<b"),
           "|#|include|<a//b>|#|include_next|<c'd>|a|<|b|");
  CHECK_EQ(Words("#if __has_include(</a>) && b < c"),
           "|#|if|__has_include|(|</a>|)|&|&|b|<|c|");
  CHECK_EQ(Words("%:define a"), "|%:|define|a|");
}

TEST(LiteralsAreOneToken) {
  CHECK_EQ(Words("f(\"a<<<b\", '\\'', u8\"x\", L'y')"),
           "|f|(|\"a<<<b\"|,|'\\''|,|u8\"x\"|,|L'y'|)|");
}

TEST(RawStringsEndAtTheirDelimiter) {
  CHECK_EQ(Words("R\"x(a)\" \" // )y\" )x\" b"),
           "|R\"x(a)\" \" // )y\" )x\"|b|");
  CHECK_EQ(Words("FR\"(\" a"), "|FR|\"(\"|a|");
  CHECK_EQ(Words("R\"(a)\\\n\" )\" b"), "|R\"(a)\\\n\" )\"|b|");
  CHECK_EQ(Words("u8R\"(<<<)\"c"), "|u8R\"(<<<)\"|c|");
}

TEST(NumbersKeepSeparatorsSignsAndSuffixes) {
  CHECK_EQ(Words("1'000 1e-3f .5 0x1p+2 0xe+1 1.f"),
           "|1'000|1e-3f|.5|0x1p+2|0xe|+|1|1.f|");
}

TEST(ChevronsAreOneTokenAndShiftsAreNot) {
  CHECK_EQ(Words("k<<<1,2>>>(x<<1)"), "|k|<<<|1|,|2|>>>|(|x|<|<|1|)|");
}

TEST(DirectivesReachToTheirLineEnd) {
  for (const Token& token : Lex("a\n# define b \\\n c /* d\n */ e\nf")) {
    if (token.text == "a" || token.text == "f") CHECK(!token.directive);
    if (token.text == "b" || token.text == "c" || token.text == "e") {
      CHECK(token.directive);
    }
  }
}

}  // namespace

int main() { return jaxkern::testing::RunTests(); }
