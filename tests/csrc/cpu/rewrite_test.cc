#include "backends/cpu/rewrite.h"

#include <algorithm>

#include "backends/cpu/features.h"
#include "check.h"

namespace {

using jaxkern::RewriteCuda;
using jaxkern::UnsupportedFeature;

/// What a launch of `callee` with this configuration and arguments becomes.
std::string Launch(const std::string& callee, const std::string& configuration,
                   const std::string& arguments) {
  return "::jaxkern_cpu::Launch(::jaxkern_cpu::Configuration(" + configuration +
         "), [=](auto... jaxkern_arguments) { " + callee +
         "(jaxkern_arguments...); }" +
         (arguments.empty() ? "" : ", " + arguments) + ")";
}

TEST(LaunchBecomesACall) {
  CHECK_EQ(RewriteCuda("k<<<1, 2>>>(a, b);"),
           Launch("k", "1, 2", "a, b") + ";");
  CHECK_EQ(RewriteCuda("k<<<g, b, s, t>>>();"),
           Launch("k", "g, b, s, t", "") + ";");
}

TEST(CalleeMayBeAnyNameOrExpression) {
  for (const std::string callee :
       {"a::k", "::k", "::a::k", "k<float>", "a<int>::k<3>", "k<A<B<int>>>",
        "k<A<2, (8 > 4) ? 1 : 2>, true>", "ks[i]", "ks[a[0]]", "(*k)",
        "(n > 1 ? f<1> : f<2>)", "KERNEL(a, 1)", "a.k", "a->k",
        "A::template k<2>"}) {
    CHECK_EQ(RewriteCuda("{ " + callee + "<<<1, 2>>>(x); }"),
             "{ " + Launch(callee, "1, 2", "x") + "; }");
  }
}

TEST(CalleeEndsAtWhatPrecedesIt) {
  CHECK_EQ(RewriteCuda("if (a) k<<<1, 2>>>();"),
           "if (a) " + Launch("k", "1, 2", "") + ";");
  CHECK_EQ(RewriteCuda("else k<<<1, 2>>>();"),
           "else " + Launch("k", "1, 2", "") + ";");
  CHECK_EQ(RewriteCuda("else (*k)<<<1, 2>>>();"),
           "else " + Launch("(*k)", "1, 2", "") + ";");
  CHECK_EQ(RewriteCuda("case 1: k<1><<<1, 2>>>();"),
           "case 1: " + Launch("k<1>", "1, 2", "") + ";");
}

TEST(LaunchesSideBySideAreAllRewritten) {
  const std::string one = "k<A<int, 4>, b><<<1, 2, 3, s>>>(x, y, z, w);";
  const std::string text = RewriteCuda(one + "j<<<1, 2>>>(x);" + one);
  CHECK(text.find("<<<") == std::string::npos);
  CHECK_HAS(text, Launch("j", "1, 2", "x"));
}

TEST(ConfigurationsMayHoldShiftsCommasAndBraces) {
  CHECK_EQ(RewriteCuda("k<<<dim3{1, 2}, f(a, b) >> 1, 1 << 3>>>(x);"),
           Launch("k", "dim3{1, 2}, f(a, b) >> 1, 1 << 3", "x") + ";");
}

TEST(CommentsStringsAndShiftsStayAsTheyAre) {
  for (const std::string text :
       {"// k<<<1, 2>>>(x); __shared__ int a[2];\n", "/* k<<<1, 2>>>(x) */",
        "\"k<<<1, 2>>>(x)\"", "R\"(__shared__ k<<<1>>>(x))\"",
        "std::cout << a << b >> c;", "A<B<C<int>>> v(w);",
        "ostream& operator<<(ostream& o, T t);"}) {
    CHECK_EQ(RewriteCuda(text), text);
  }
}

TEST(MacrosAreRewrittenInPlace) {
  CHECK_EQ(
      RewriteCuda("#define L(k, ...) k<<<1, 2>>>(__VA_ARGS__)\nint a;"),
      "#define L(k, ...) " + Launch("k", "1, 2", "__VA_ARGS__") + "\nint a;");
}

TEST(LinesStayWhereTheyAre) {
  const std::string source =
      "k\n  <A,\n B>\n<<<1,\n  2>>>\n(\nx,\n  y);\n"
      "#define L k<<<1, \\\n 2>>> \\\n (x)\n"
      "void f() {\n  extern\n  __shared__\n float s\n[];\n}\n"
      "__shared__\nfloat t[2];\nextern __shared__ float\n u[]\n;\n";
  const std::string text = RewriteCuda(source);
  CHECK_EQ(std::count(text.begin(), text.end(), '\n'),
           std::count(source.begin(), source.end(), '\n'));
}

TEST(StaticSharedMemoryIsTheThreadsOfOneBlock) {
  CHECK_EQ(RewriteCuda("void f() { __shared__ float s[2]; }"),
           "void f() { static thread_local float s[2]; JAXKERN_SHAPE(s) }");
  CHECK_EQ(RewriteCuda("void f() { static __shared__ float s[2]; }"),
           "void f() { static thread_local float s[2]; JAXKERN_SHAPE(s) }");
}

TEST(EverySharedArrayTellsItsShape) {
  CHECK_HAS(RewriteCuda("void f() { __shared__ V<int, 4> a[N < 2 ? 1 : 2][3],"
                        " b, c[g(1, 2)]; }"),
            "; JAXKERN_SHAPE(a) JAXKERN_SHAPE(b) JAXKERN_SHAPE(c) }");
  CHECK_HAS(RewriteCuda("void f() { __shared__ struct { int a; } s; }"),
            "} s; JAXKERN_SHAPE(s) }");
  CHECK_HAS(RewriteCuda("__shared__ alignas(16) float s[2];"),
            "s[2]; JAXKERN_GLOBAL_SHAPE(s)");
  CHECK(RewriteCuda("#define S __shared__ float s[2];\n").find("SHAPE") ==
        std::string::npos);
}

TEST(DynamicSharedMemoryIsAPointer) {
  const std::string value =
      " = static_cast<decltype(s)>(jaxkern_dynamic_shared(\"s\", sizeof(*s)));";
  for (const std::string declaration :
       {"extern __shared__ float s[];", "__shared__ extern float s[];",
        "extern __shared__ __align__(16) float s[];",
        "extern __align__(16) __shared__ float s[];",
        "extern __shared__ alignas(16) float s[];"}) {
    const std::string text = RewriteCuda("void f() {" + declaration + "}");
    CHECK_HAS(text, "(*s)" + value);
    CHECK(text.find("extern") == std::string::npos);
    CHECK(text.find("align") == std::string::npos);
    CHECK(text.find("thread_local") == std::string::npos);
  }
  CHECK_HAS(RewriteCuda("void f() { extern __shared__ int s[][8]; }"),
            "(*s)[8]" + value);
}

TEST(DynamicSharedMemoryAtFileScopeIsOnePointerPerOsThread) {
  for (const std::string scope :
       {"%", "namespace a { % }", "namespace { % }", "extern \"C\" { % }"}) {
    std::string source = scope;
    source.replace(source.find('%'), 1, "extern __shared__ float s[];");
    CHECK_HAS(RewriteCuda(source), "JAXKERN_PER_RUNNER ");
  }
}

TEST(NoinlineIsAnAttribute) {
  CHECK_EQ(RewriteCuda("__device__ __noinline__ int f();"),
           "__device__ __attribute__((noinline)) int f();");
  const std::string plain = "__attribute__((cold, __noinline__)) int f();";
  CHECK_EQ(RewriteCuda(plain), plain);
}

TEST(UnsupportedFeaturesAreNamed) {
  CHECK_HAS(UnsupportedFeature("asm volatile(\"bar.sync 0;\");"), "PTX");
  CHECK_HAS(UnsupportedFeature("nvcuda::wmma::fragment<int> f;"), "wmma");
  CHECK_HAS(UnsupportedFeature("#include <cub/cub.cuh>\n"), "CUB");
  CHECK_HAS(UnsupportedFeature("#  include \"cublas_v2.h\"\n"), "cuBLAS");
}

TEST(LinesStayWhereTheyAreInAnyDeclaration) {
  for (const std::string source :
       {"void f() { extern __shared__ __align__(\n16) float s[]; }",
        "void f() {\nextern __shared__ float\n s[\n]; }",
        "extern __shared__ float s[;\n];", "k<<<1,\n2>>>\n(\n)"}) {
    const std::string text = RewriteCuda(source);
    CHECK_EQ(std::count(text.begin(), text.end(), '\n'),
             std::count(source.begin(), source.end(), '\n'));
  }
}

TEST(ATextThatWouldTakeLongIsUnsupported) {
  std::string launches, many_raw;
  for (int i = 0; i < 100'000; ++i) {
    launches += "k<<<1, 1>>>(";
    many_raw += "R\"";
  }
  CHECK_HAS(UnsupportedFeature(launches), "so many launches");
  CHECK_EQ(UnsupportedFeature(many_raw), "");
}

TEST(ADirectiveMayLackWhatItIncludes) {
  CHECK_EQ(UnsupportedFeature("#include"), "");
  CHECK_EQ(UnsupportedFeature("#include\n"), "");
}

TEST(WhatIsOnlyMentionedIsSupported) {
  CHECK_EQ(UnsupportedFeature("// asm, wmma\n\"asm\" int asm_count;"
                              "\n#include <cuda_runtime.h>\n"
                              "#if 0\n#include <mma.h>\nasm();\n#endif\n"),
           "");
}

}  // namespace

int main() { return jaxkern::testing::RunTests(); }
