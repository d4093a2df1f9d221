#include "core/hopeless.h"

#include <algorithm>
#include <chrono>

#include "check.h"

using jaxkern::FindHopeless;
using jaxkern::Status;
using jaxkern::StatusName;

namespace {

constexpr char kLaunch[] = "extern \"C\" int launch() { return 0; }\n";

/// The verdict in words, "" if there is none.
std::string Verdict(const std::string& source) {
  const auto hopeless = FindHopeless(source, "int launch(SIGNATURE)");
  if (!hopeless) return "";
  return std::string(StatusName(hopeless->status)) + " in " + hopeless->stage +
         ": " + hopeless->log;
}

/// With a `launch` before it, as long as it can be seen.
std::string VerdictOn(const std::string& source) {
  return Verdict(kLaunch + source);
}

}  // namespace

TEST(TextWithoutCodeHasNoKernel) {
  for (const char* text : {"", " \n\t", "// nothing\n", "/* nor here */"}) {
    CHECK_HAS(Verdict(text), "extract_error in extract: no kernel source");
    CHECK_HAS(Verdict(text), "int launch(SIGNATURE)");
  }
  CHECK_HAS(Verdict("Sorry, I can not do that."),
            "extract_error in extract: no kernel: the text has neither");
}

TEST(WithoutAnythingNamedLaunchItCannotBeLinked) {
  CHECK_HAS(Verdict("__global__ void launch_kernel() {}"),
            "link_error in link: nothing in the text is named `launch`\n"
            "expected the kernel to define int launch(SIGNATURE)");
  CHECK_EQ(Verdict("extern \"C\" int launch(float*);"), "");
  CHECK_EQ(Verdict("int lau\\\nnch() { return 0; }"), "");
}

TEST(WhatIsOpenedAndNotClosedIsNamedWithItsLine) {
  CHECK_HAS(VerdictOn("void f() {\n  if (x) {\n    y = (1 +"),
            "compile_error in compile: line 4: '(' is never closed, nor is the "
            "'{' of line 2, and the text ends first");
  CHECK_HAS(VerdictOn("void f() {\n  y = x[1;\n}"),
            "line 4: '}' comes before the '[' of line 3 is closed");
  CHECK_HAS(VerdictOn("\n}\n"), "line 3: '}' closes nothing");
  CHECK_HAS(VerdictOn("int y;\n/* a comment\n"),
            "line 3: a comment is opened and not closed");
  CHECK_HAS(VerdictOn("f(\"text);\n"), "line 2: a string is opened");
  CHECK_HAS(VerdictOn("char c = 'x;\n"), "line 2: a character is opened");
  CHECK_HAS(VerdictOn("auto s = R\"(text);\n"), "line 2: a string is opened");
}

TEST(BracketsInTextAndCommentsDoNotCount) {
  for (const char* text :
       {"// { (\n", "/* } */\n", "const char* s = \"{\\\"(\";\n",
        "int c = '{';", "auto s = R\"x({\n)\")x\";", "int n = 1'000;",
        "f(L'\\'');", "f('\\\\');", "#include <a'b>\n", "#pragma message (\n",
        "#error don't\n"}) {
    CHECK_EQ(VerdictOn(text), "");
  }
}

TEST(WhatThePreprocessorDecidesIsLeftToIt) {
  for (const char* text :
       {"#if 0\n}\n#endif\n",
        "#ifdef X\nvoid f() {\n#else\nvoid g() {\n#endif\n}",
        "#define BEGIN {\nvoid f() BEGIN }", "#define S(x) #x\nf(S({));",
        "#define IGNORE(x)\nIGNORE({ '\n)\n", "__BEGIN_DECLS\nint f();\n}",
        "#define X __BEGIN_DECLS\nX int f(); }", "assert(\"(\" && {);",
        "void f() <% %>", "int x<:3:>;", "#include \"macros.h\"\nSTART }",
        "#if 0\n'\n#endif\n"}) {
    CHECK_EQ(VerdictOn(text), "");
  }
  for (const char* text :
       {"#define NAME(a, b) a##b\nint NAME(lau, nch)() { return 0; }",
        "int f() asm(\"launch\");", "#include \"launch.h\"\n",
        "#define F launch\nint F() { return 0; }"}) {
    CHECK_EQ(Verdict(text), "");
  }
}

TEST(OtherFormsAreNotJudged) {
  CHECK_EQ(Verdict("import torch\nx = 'it''s {'\n"), "");
  CHECK_EQ(Verdict("#include <torch/extension.h>\nvoid f() {}"), "");
}

TEST(AVerdictTakesMicroseconds) {
  std::string source;
  for (int i = 0; i < 40; ++i) {
    source += "__global__ void k" + std::to_string(i) +
              "(const float* x, float* y, int n) {\n"
              "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
              "  if (i < n) y[i] = x[i] * 2.0f;  // twice\n}\n";
  }
  std::vector<double> samples;
  for (int i = 0; i < 25; ++i) {
    const auto start = std::chrono::steady_clock::now();
    CHECK(FindHopeless(source, "").has_value());
    samples.push_back(std::chrono::duration<double, std::micro>(
                          std::chrono::steady_clock::now() - start)
                          .count());
  }
  std::sort(samples.begin(), samples.end());
  std::printf("     %zu bytes in %.0f us\n", source.size(), samples[12]);
  CHECK(samples[12] < 20000);  // of a busy machine, with sanitizers
}

int main() { return jaxkern::testing::RunTests(); }
