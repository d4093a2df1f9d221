#include "backends/cpu/lexer.h"

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
        "R\"(unclosed", "/* unclosed", "\"unclosed\nx", "\\", "", "\r\n@`"}) {
    std::string all;
    for (const Token& token : Lex(source)) all += token.text;
    CHECK_EQ(all, source);
  }
}

TEST(CommentsAreSpace) {
  CHECK_EQ(Words("a//b <<<\nc/*d\n*/e//f \\\n g\nh"), "|a|c|e|h|");
}

TEST(LiteralsAreOneToken) {
  CHECK_EQ(Words("f(\"a<<<b\", '\\'', u8\"x\", L'y')"),
           "|f|(|\"a<<<b\"|,|'\\''|,|u8\"x\"|,|L'y'|)|");
}

TEST(RawStringsEndAtTheirDelimiter) {
  CHECK_EQ(Words("R\"x(a)\" \" // )y\" )x\" b"),
           "|R\"x(a)\" \" // )y\" )x\"|b|");
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
