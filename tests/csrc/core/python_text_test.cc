#include "core/python_text.h"

#include "check.h"

namespace jaxkern {
namespace {

using Kind = PythonToken::Kind;

/// The one literal of a text.
PythonToken Literal(const std::string& source) {
  for (const PythonToken& token : LexPython(source)) {
    if (token.kind == Kind::kText) return token;
  }
  return {};
}

std::string Words(const std::string& source) {
  std::string words;
  for (const PythonToken& token : LexPython(source)) {
    words += (token.kind == Kind::kText      ? "<" + token.value.text + ">"
              : token.kind == Kind::kNewline ? "|"
                                             : token.text) +
             " ";
  }
  return words;
}

TEST(StatementsEndWithLinesOutsideOfBrackets) {
  CHECK_EQ(Words("a = 1  # b = 2\nf(a,\n  b)\nc; d\n"),
           "a = 1 | f ( a , b ) | c | d | ");
  CHECK_EQ(Words("a = \\\n  1"), "a = 1 | ");
}

TEST(LiteralsOfAllQuotesHaveTheirValues) {
  CHECK_EQ(Literal("'a\"b'").value.text, "a\"b");
  CHECK_EQ(Literal("\"\"\"a\n\"b\" c\"\"\"").value.text, "a\n\"b\" c");
  CHECK_EQ(Literal("'''x''y'''").value.text, "x''y");
  CHECK_EQ(Literal("''").value.text, "");
  CHECK_EQ(Literal("rb'\\n'").prefix, "rb");
  CHECK_EQ(Literal("F'x'").prefix, "f");
}

TEST(EscapesAreReadButInRawLiterals) {
  CHECK_EQ(Literal("'a\\n\\t\\\\\\'\\x41\\101\\u00e9\\q'").value.text,
           "a\n\t\\'AA\xc3\xa9\\q");
  CHECK_EQ(Literal("r'a\\n\\''").value.text, "a\\n\\'");
}

TEST(ALineJoinStaysForCxx) {
  CHECK_EQ(Literal("'''a \\\nb'''").value.text, "a \\\nb");
}

TEST(CharactersKnowTheirLines) {
  const PythonToken token = Literal("x = 1\ny = '''a\nb\\n\\\nc'''");
  CHECK_EQ(token.value.text, "a\nb\n\\\nc");
  const std::vector<int> lines = {2, 2, 3, 3, 3, 3, 4};
  CHECK(token.value.lines == lines);
}

TEST(AnEndThatIsMissingIsKnown) {
  CHECK(!Literal("'abc\nd").closed);
  CHECK(!Literal("'''abc\nd").closed);
  CHECK(!Literal("'abc\\").closed);
  CHECK(Literal("'abc'").closed);
}

TEST(AnyBytesHaveTokens) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  CHECK(!LexPython(all + all).empty());
  CHECK(LexPython("").empty());
}

}  // namespace
}  // namespace jaxkern

int main() { return jaxkern::testing::RunTests(); }
