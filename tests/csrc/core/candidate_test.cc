#include "core/candidate.h"

#include <algorithm>

#include "check.h"

namespace jaxkern {
namespace {

const char kCuda[] =
    "#include <torch/extension.h>\n"
    "torch::Tensor f(torch::Tensor x, double eps) { return x; }\n";

std::string Program(const std::string& middle, const std::string& arguments) {
  return "import torch\n" + middle + "\nm = load_inline(name='m', " +
         arguments + ")\n";
}

bool HasFlag(const Candidate& candidate, const std::string& flag) {
  return std::find(candidate.flags.begin(), candidate.flags.end(), flag) !=
         candidate.flags.end();
}

TEST(OtherTextsStayNative) {
  for (const char* text :
       {"", "__global__ void k() {}",
        "// import torch\n/*\nfrom torch import nn\n*/ int x;",
        "const char* s = \"\\\nimport torch\";",
        "// #include <torch/extension.h>\nint torch;"}) {
    const Candidate candidate = ReadCandidate(text);
    CHECK_EQ(candidate.form, "native");
    CHECK_EQ(candidate.text, text);
  }
}

/// What is compiled, without the lines that say where it stood.
std::string WithoutPlaces(const std::string& unit) {
  std::string kept;
  for (size_t at = 0; at < unit.size();) {
    const size_t end = std::min(unit.find('\n', at), unit.size() - 1) + 1;
    if (unit.compare(at, 6, "#line ") != 0) kept += unit.substr(at, end - at);
    at = end;
  }
  return kept;
}

/// Whether a backslash joins the line at `at` to the one before.
bool IsJoined(const std::string& unit, size_t at) {
  if (at == 0) return false;
  const size_t last = unit.find_last_not_of(" \t", at - 2);
  return last != std::string::npos && unit[last] == '\\';
}

/// The compiler's comment would go on in "#line", the rules' in the include.
TEST(NoLineOfPlacesIsJoinedToTheLast) {
  for (const char* end : {"\\ ", "\\\t\n", "\\\n"}) {
    for (const char* sources :
         {"cpp_sources=late, cuda_sources=early", "cuda_sources=[late, early]",
          "cuda_sources=late + early"}) {
      const Candidate candidate = ReadCandidate(
          Program("early = '''#include <sys/socket.h>\n" + std::string(kCuda) +
                      "'''\nlate = r'''\n\n\nint n; // tail " + end + "'''",
                  std::string(sources) + ", functions=['f']"));
      CHECK_EQ(candidate.log, "");
      CHECK_EQ(WithoutPlaces(candidate.unit), candidate.text);
      size_t at = candidate.unit.find("#line");
      for (; at != std::string::npos;
           at = candidate.unit.find("#line", at + 1)) {
        CHECK(!IsJoined(candidate.unit, at));
      }
    }
  }
}

TEST(ProgramsThatGrowEndSomewhere) {
  for (const char* more : {"a = a + a\n", "a += a\n", "b = [b, b]\n",
                           "b = b + b\n", "a = a + a + a + a\n"}) {
    std::string middle = "a = '" + std::string(100, 'x') + "'\nb = [a, a]\n";
    for (int i = 0; i < 3000; ++i) middle += more;
    const Candidate candidate =
        ReadCandidate(Program(middle, "cuda_sources=[a] + b, functions=['f']"));
    CHECK(candidate.status != Status::kOk);
    CHECK(candidate.log.size() < 1000);
  }
}

TEST(ListsGrowAndOnlyBlanksGo) {
  const Candidate grown = ReadCandidate(
      Program("parts = ['''#include <torch/extension.h>\n''']\n"
              "parts += ['''torch::Tensor f(torch::Tensor x) { return x; }''']",
              "cuda_sources=parts, functions=['f']"));
  CHECK_EQ(grown.log, "");
  CHECK_HAS(grown.text, "torch/extension.h");
  const Candidate stripped =
      ReadCandidate(Program("s = '''xx" + std::string(kCuda) + "'''.strip('x')",
                            "cuda_sources=s, functions=['f']"));
  CHECK(stripped.status == Status::kUnsupported);
  CHECK_HAS(stripped.log, "a string changed by .strip()");
}

/// Minutes, where each of them looks at all others.
TEST(LongUnitsAreReadOnce) {
  std::string functions = "#include <torch/extension.h>\n";
  std::string namespaces = functions;
  for (int i = 0; i < 20000; ++i) {
    functions += "torch::Tensor f" + std::to_string(i) +
                 "(torch::Tensor x) { return x; }\n";
    namespaces += "namespace a {\n";
  }
  CHECK(ReadCandidate(functions).status == Status::kUnsupported);
  CHECK(ReadCandidate(namespaces).status == Status::kExtractError);
}

TEST(TheSourceIsFollowedToItsLiteral) {
  for (const std::string& program : {
           Program("s = '''" + std::string(kCuda) + "'''",
                   "cuda_sources=s, functions=['f']"),
           Program("s = r\"\"\"" + std::string(kCuda) + "\"\"\".strip()",
                   "cpp_sources='', cuda_sources=[s], functions=('f',)"),
           Program("class A:\n  code: str = '''" + std::string(kCuda) + "'''",
                   "cuda_sources=code, functions={'f': 'doc'}"),
           Program("self.code = dedent('''" + std::string(kCuda) + "''')",
                   "cuda_sources=(self.code), functions='f'"),
           Program("a = '#include <torch/extension.h>\\n'\n"
                   "b = 'torch::Tensor f(torch::Tensor x, '\n"
                   "b += 'double eps) { return x; }\\n'",
                   "cuda_sources=a + b, functions=['f']"),
       }) {
    const Candidate candidate = ReadCandidate(program);
    CHECK_EQ(candidate.log, "");
    CHECK(candidate.status == Status::kOk);
    CHECK_EQ(candidate.form, "torch");
    CHECK_HAS(candidate.text, "#include <torch/extension.h>\n");
    CHECK_HAS(candidate.text, "double eps) { return x; }");
    CHECK_EQ(candidate.function.name, "f");
    CHECK_EQ(candidate.function.parameters.size(), 2u);
    CHECK_EQ(candidate.function.parameters[1], "eps");
  }
}

TEST(ArgumentsMayStandInTheirPlaces) {
  const Candidate candidate = ReadCandidate(
      "from x import load_inline\nload_inline('n', ['torch::Tensor f();'], ['"
      "#include <torch/extension.h>\\ntorch::Tensor f() { return {}; }'], "
      "['f'])");
  CHECK_EQ(candidate.log, "");
  CHECK_EQ(candidate.function.name, "f");
}

TEST(LinesKeepTheirPlaces) {
  const Candidate candidate = ReadCandidate(
      Program("\ns = '''" + std::string(kCuda) + "'''",
              "cpp_sources='torch::Tensor f(torch::Tensor x, double eps=1);', "
              "cuda_sources=s, functions=['f']"));
  // The include is on line 3, and so on; a default is said once.
  CHECK_EQ(candidate.unit,
           "\n\n#include <torch/extension.h>\n"
           "torch::Tensor f(torch::Tensor x, double eps) { return x; }\n"
           "\ntorch::Tensor f(torch::Tensor x, double eps  );");
  CHECK_EQ(candidate.text, candidate.unit);
}

TEST(LinesThatCannotAreSaidToTheCompilerOnly) {
  const Candidate candidate = ReadCandidate(
      Program("s = 'int a;\\nint b;\\n#include <torch/extension.h>'\n"
              "t = 'int c;'",
              "cuda_sources=[s, t], functions=['c']"));
  CHECK_EQ(candidate.text,
           "\nint a;\nint b;\n#include <torch/extension.h>\nint c;");
  CHECK_EQ(candidate.unit,
           "\nint a;\n#line 2\nint b;\n#line 2\n#include <torch/extension.h>\n"
           "int c;");
}

TEST(WhatIsNotFollowedIsSaid) {
  const auto refused = [](const std::string& program, const char* part) {
    const Candidate candidate = ReadCandidate(program);
    CHECK(candidate.status == Status::kUnsupported);
    CHECK_EQ(candidate.form, "torch");
    CHECK_HAS(candidate.log, part);
  };
  refused(Program("s = f'''x'''", "cuda_sources=s, functions=['f']"),
          "cuda_sources holds an f-string (line 2)");
  refused(Program("s = 'x' % 3", "cuda_sources=s, functions=['f']"),
          "a string changed by the operator % (line 2)");
  refused(Program("s = 'x'.format(3)", "cuda_sources=s, functions=['f']"),
          "a string changed by .format()");
  refused(Program("", "cuda_sources=[open('a').read()], functions=['f']"),
          "something that is not a string literal");
  refused(Program("m = load_inline('a', 'b', 'c', ['d'])",
                  "cuda_sources='', functions=['f']"),
          "load_inline is called on lines 2 and 3");
}

TEST(WhatIsMissingIsSaid) {
  const auto refused = [](const std::string& program, const char* part) {
    const Candidate candidate = ReadCandidate(program);
    CHECK(candidate.status == Status::kExtractError);
    CHECK_HAS(candidate.log, part);
  };
  refused("import torch\n", "Python without a call of load_inline");
  refused(Program("def load_inline(x): pass", "functions=['f']"),
          "is given no cuda_sources");
  refused(Program("", "cuda_sources='int x;'"), "names no functions");
  refused("#include <torch/extension.h>\n", "no function on torch::Tensor");
  // It would become a part of the unit that no rule has seen.
  refused(Program("", "cuda_sources='int x;', functions=['f);}int g(){(0']"),
          "names a function that C++ cannot have: \"f);}int g(){(0\"");
}

TEST(TheFunctionThatPythonCallsIsChosen) {
  const std::string middle =
      "s = '''\n" + std::string(kCuda) +
      "torch::Tensor g(torch::Tensor x) { return x; }\n'''\n";
  const std::string bind = "cuda_sources=s, functions=['f', 'g']";
  CHECK_EQ(ReadCandidate(Program(middle, bind) + "y = m.g(x)").function.name,
           "g");
  CHECK_HAS(ReadCandidate(Program(middle, bind) + "m.g(m.f(x))").log,
            "Python calls f and g");
  CHECK_HAS(ReadCandidate(Program(middle, bind)).log, "none of them is seen");
}

TEST(WhatPythonPassesIsKnown) {
  const std::string program = Program("s = '''" + std::string(kCuda) + "'''",
                                      "cuda_sources=s, functions=['f']") +
                              "self.eps = 1e-5\n";
  const auto passed = [&](const std::string& call) {
    return ReadCandidate(program + call).function.passed;
  };
  auto values = passed("y = m.f(x.contiguous(), self.eps)");
  CHECK_EQ(values.size(), 2u);
  CHECK_EQ(values[0].literal + values[0].name, "");
  CHECK_EQ(values[1].literal, "1e-5");
  values = passed("y = m.f(x, -1_0, True, a.b,)");
  CHECK_EQ(values.size(), 4u);
  CHECK_EQ(values[0].name, "x");
  CHECK_EQ(values[1].literal, "-10");
  CHECK_EQ(values[2].literal, "1");
  CHECK_EQ(values[3].name, "b");
  CHECK(passed("m.f(x, 1); m.f(x, 2)").empty());
}

TEST(BoundFunctionsAreFound) {
  const std::string text =
      "#include <torch/extension.h>\n"
      "namespace a { torch::Tensor g(torch::Tensor x) { return x; } }\n"
      "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {\n"
      "  m.def(\"forward\", &a::g, \"doc\", py::arg(\"x\"));\n}\n";
  const Candidate one = ReadCandidate(text);
  CHECK_EQ(one.function.name, "a::g");
  CHECK_EQ(one.function.parameters.size(), 1u);
  CHECK_EQ(one.function.parameters[0], "x");
  const Candidate two = ReadCandidate(text +
                                      "PYBIND11_MODULE(n, m) {"
                                      "m.def(\"b\", f); }");
  CHECK(two.status == Status::kUnsupported);
  CHECK_HAS(two.log, "PYBIND11_MODULE binds a::g and f");
}

TEST(AHelperIsNotTheFunction) {
  const std::string text =
      "#include <torch/extension.h>\n"
      "static torch::Tensor s(torch::Tensor x) { return x; }\n"
      "template <class T> torch::Tensor t(torch::Tensor x) { return x; }\n"
      "torch::Tensor h(torch::Tensor x) { return x; }\n"
      "torch::Tensor f(const torch::Tensor&, int64_t n = 3) { return h(x); }";
  const Candidate candidate = ReadCandidate(text);
  CHECK_EQ(candidate.log, "");
  CHECK_EQ(candidate.function.name, "f");
  CHECK_EQ(candidate.function.parameters.size(), 2u);
  CHECK_EQ(candidate.function.parameters[0], "");
  CHECK_EQ(candidate.function.parameters[1], "n");
}

TEST(HeadersComeByWhatIsMentioned) {
  const std::string text = kCuda;
  CHECK(ReadCandidate(text).flags.empty());
  CHECK(HasFlag(ReadCandidate(text + "std::vector<int> v;"),
                "-DJAXKERN_TORCH_VECTOR"));
  CHECK(HasFlag(ReadCandidate(text + "at::Half h;"), "-DJAXKERN_TORCH_HALF"));
  CHECK(HasFlag(ReadCandidate(text + "std::string s;"), "string"));
  CHECK(!HasFlag(ReadCandidate(text + "// std::string s;"), "string"));
}

TEST(DeepAndBrokenProgramsEnd) {
  const std::string deep(100000, '(');
  CHECK(ReadCandidate("import a\nx = " + deep).status != Status::kOk);
  CHECK(ReadCandidate("import a\nload_inline(" + deep).status != Status::kOk);
  std::string many = "import a\n";
  for (int i = 0; i < 20000; ++i) many += "load_inline(";
  CHECK(ReadCandidate(many).status != Status::kOk);
  for (const char* broken : {"import a\nload_inline(", "import a\nx = [",
                             "import a\nload_inline(x=", "import a\nx = '''"}) {
    CHECK(ReadCandidate(broken).status != Status::kOk);
  }
}

}  // namespace
}  // namespace jaxkern

int main() { return jaxkern::testing::RunTests(); }
