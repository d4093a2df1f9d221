#include "core/normalise.h"

#include "check.h"

using jaxkern::Normalise;

namespace {

std::string Form(const std::string& text) {
  return Normalise(text).value_or("none");
}

/// Both say the same to a compiler.
void CheckSame(const std::string& a, const std::string& b) {
  CHECK(Normalise(a).has_value());
  CHECK_EQ(Form(a), Form(b));
}

void CheckDifferent(const std::string& a, const std::string& b) {
  CHECK(!Normalise(a) || Form(a) != Form(b));
}

}  // namespace

TEST(CommentsLinesAndIndentationDoNotCount) {
  CheckSame("int f() {\n  return 1;  // one\n}\n",
            "/* a\n comment */ int\tf ( ) { return 1 ; }\r\n");
  CheckSame("a  b", "a/**/b");
  CheckSame("#define N 4 // four\nint x [N];",
            "  #define N /* 4 */   4\n int x [N];");
}

TEST(WhatSpaceSeparatesStaysApart) {
  CheckDifferent("int x;", "intx;");
  CheckDifferent("a + +b", "a ++b");
  CheckDifferent("a - > b", "a -> b");
  CheckDifferent("k<< <1, 1>>>();", "k<<<1, 1>>>();");
  CheckDifferent("x = y / *p;", "x = y /*p;*/");
}

TEST(LiteralsStayAsTheyAre) {
  CheckDifferent("f(\"a b\");", "f(\"a  b\");");
  CheckDifferent("f(\"a//b\");", "f(\"a\");");
  CheckDifferent("f(' ');", "f('\t');");
  CheckDifferent("f(R\"(a\n b)\");", "f(R\"(a\nb)\");");
  CheckDifferent("f(R\"(a\\\nb)\");", "f(R\"(ab)\");");
}

TEST(DirectivesKeepTheirLines) {
  CheckDifferent("#define f(x) x\n", "#define f (x) x\n");
  CheckDifferent("#define a\nint b;", "#define a int b;");
  CheckDifferent("x\n#define y\n", "x #define y\n");
  CheckDifferent("#if 1\n#endif\n", "#if 1 #endif\n");
  CheckSame("int a;\n\n\n  #pragma unroll  4\nint b;",
            "int a;\n#pragma unroll 4\nint b;");
}

TEST(JoinedLinesAreNotSpace) {
  CheckDifferent("a +\\\n+ b", "a + + b");
  CheckSame("#define x 1 \\\n  + 2\n", "#define x 1 \\\n+ 2\n");
}

TEST(WhereSpaceBecomesTextItCounts) {
  const std::string macro = "#define S(x) #x\n";
  CheckDifferent(macro + "f(S(a , b));", macro + "f(S(a, b));");
  CheckSame(macro + "f(S(a  , b));", macro + "f(S(a , b));");
}

TEST(TextsThatTellTheirLinesHaveNoForm) {
  for (const char* text :
       {"int x = __LINE__;", "assert(n > 0);", "std::source_location l;",
        "int x = __builtin_LINE();", "TORCH_CHECK(x);", "f(__FILE__);",
        "#define C(a, b) a##b\nint x = C(__LI, NE__);"}) {
    CHECK(!Normalise(text));
  }
  CHECK(Normalise("static_assert(true);").has_value());
}

TEST(TextsThatCompilersReadDifferentlyHaveNoForm) {
  CHECK(!Normalise("int x; /* not closed"));
  CHECK(!Normalise("int x; /*/"));
  CHECK(!Normalise("// is it joined? \\ \nint x;"));
  CHECK(!Normalise("// is it joined? ?\?/\nint x;"));
  CHECK(!Normalise("// one line?\rint x;"));
  CHECK(!Normalise("#if 0\nit's one word?\n#endif"));
  CHECK(!Normalise("\\// what comes next?\n#"));
  CHECK(Normalise("int a; // a windows file\r\nint b;\r\n").has_value());
}

int main() { return jaxkern::testing::RunTests(); }
