// How candidates are divided, and when they are not.
#include "backends/cuda/split.h"

#include <algorithm>
#include <string>

#include "backends/cuda/split_log.h"
#include "check.h"

namespace {

using jaxkern::Divide;
using jaxkern::Division;

const std::string kKernel =
    "__global__ void k(float* x, int n) { x[n] = 1; }\n";
const std::string kLaunch =
    "extern \"C\" int launch(float* x, cudaStream_t s) {\n"
    "  k<<<1, 32, 0, s>>>(x, 3);\n  return 0;\n}\n";

std::string Why(const std::string& source) { return Divide(source).obstacle; }

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

long LinesOf(const std::string& text) {
  return std::count(text.begin(), text.end(), '\n');
}

TEST(KernelsGoToTheDeviceAndLaunchesToTheHost) {
  const Division division = Divide(kKernel + kLaunch);
  CHECK_EQ(division.obstacle, "");
  CHECK_HAS(division.device, "void k(float* x, int n) { x[n] = 1; }");
  CHECK(!Has(division.device, "launch"));
  CHECK(!Has(division.host, "x[n] = 1"));
  CHECK_HAS(division.host,
            "(::jaxkern_split::Configure(1, 32, 0, s) ? "
            "(void)0 : (void)k(x, 3));");
  CHECK_HAS(division.host, "{(void*)&x, (void*)&n, nullptr}");
  CHECK(!division.templates);
}

TEST(EveryLineStaysWhereItIs) {
  const std::string source =
      "#include <cuda_runtime.h>\n#include <vector>\n\nnamespace {\n"
      "/* a\n b */ __device__ float f(float x) {\n  return x;\n}\n}\n" +
      kKernel + "std::vector<int> sizes;\n" +
      "void run(float* x) {\n  k\n    <<<\n 1,\n 2\n>>>\n(x,\n 1);\n}\n" +
      kLaunch + "int last;\n";
  const Division division = Divide(source);
  CHECK_EQ(division.obstacle, "");
  CHECK_EQ(LinesOf(division.device), LinesOf(source));
  CHECK_EQ(LinesOf(division.host), LinesOf(source));
  const std::string upto = source.substr(0, source.find("int last"));
  const size_t at = division.host.find("int last");
  CHECK(at != std::string::npos);
  CHECK_EQ(LinesOf(division.host.substr(0, at)), LinesOf(upto));
}

TEST(EachHalfHasWhatItMentions) {
  const Division division = Divide(
      "constexpr int kTile = 4;\nstruct OnlyHost { int n; };\n"
      "struct Both { int n; };\n#define WIDTH kTile\n"
      "__device__ int tiles[WIDTH];\n"
      "__global__ void k(Both b) { tiles[0] = kTile + b.n; }\n"
      "int launch() { OnlyHost h; Both b{h.n}; k<<<WIDTH, 1>>>(b); return 0; "
      "}\n");
  CHECK_EQ(division.obstacle, "");
  CHECK_HAS(division.device, "constexpr int kTile");
  CHECK_HAS(division.host, "constexpr int kTile");
  CHECK_HAS(division.device, "struct Both");
  CHECK_HAS(division.host, "struct Both");
  CHECK(!Has(division.device, "struct OnlyHost"));
  CHECK_HAS(division.host, "struct OnlyHost");
  CHECK(!Has(division.host, "tiles"));
}

TEST(VariablesOfTheDeviceHaveShadowsThatAreRegistered) {
  const Division division = Divide(
      "static __constant__ float table[4], other[N];\n"
      "__global__ void k(float* x) { *x = table[0] + other[0]; }\n"
      "int launch(float* x) { cudaMemcpyToSymbol(table, x, 16);\n"
      "  k<<<1, 1>>>(x); return 0; }\n");
  CHECK_EQ(division.obstacle, "");
  CHECK_HAS(division.host, "JAXKERN_SPLIT_VARIABLE(table, 0, 1)");
  CHECK_HAS(division.host, "JAXKERN_SPLIT_VARIABLE(other, 1, 1)");
  CHECK(!Has(division.host, "static"));
  CHECK(!Has(division.device, "static"));
}

TEST(TemplatesAreKnownByTheirOwnParameters) {
  const Division division = Divide(
      "template <typename T, int N = 4, class... Rest>\n"
      "__global__ void k(const T* __restrict__ in, T (*), Rest... r) {}\n" +
      kLaunch);
  CHECK_HAS(division.obstacle, "parameter without a name");
  const Division named = Divide(
      "template <typename T, int N = 4, class... Rest>\n"
      "__global__ void __launch_bounds__(N) k(const T* __restrict__ in,\n"
      "  float (&&unused)[3], Rest... r) {}\n" +
      kLaunch);
  CHECK_HAS(named.obstacle, "parameter without a name");
  const Division plain = Divide(
      "template <typename T, int N = 4, class... Rest>\n"
      "__global__ void __launch_bounds__(N) k(const T* __restrict__ in,\n"
      "  float4 v, Rest... r) {}\n" +
      kLaunch);
  CHECK_EQ(plain.obstacle, "");
  CHECK(plain.templates);
  CHECK_HAS(plain.host, "JAXKERN_SPLIT_KERNEL(k<T, N, Rest...>)");
  CHECK_HAS(plain.host, "{(void*)&in, (void*)&v, (void*)&r..., nullptr}");
}

TEST(ConstexprFunctionsAreForBoth) {
  const Division division = Divide(
      "template <int N> constexpr int square() { return N * N; }\n"
      "__global__ void k(float* x, int n) { x[n] = square<3>(); }\n" +
      kLaunch);
  CHECK_EQ(division.obstacle, "");
  CHECK_HAS(division.device,
            "template <int N> __host__ __device__ constexpr int square()");
}

TEST(NamelessNamespacesGetAName) {
  const Division division = Divide("namespace {\n" + kKernel + "}\n" + kLaunch);
  CHECK_EQ(division.obstacle, "");
  CHECK_HAS(division.device, "inline namespace jaxkern_unnamed {\n");
  CHECK_HAS(division.host, "inline namespace jaxkern_unnamed {\n");
}

TEST(HeadersGoToTheHalfThatKnowsThem) {
  const Division division =
      Divide("#include <vector>\n#include <mma.h>\n#include <cuda_fp16.h>\n" +
             kKernel + kLaunch);
  CHECK_EQ(division.obstacle, "");
  CHECK(!Has(division.device, "vector"));
  CHECK_HAS(division.device, "#include <mma.h>");
  CHECK_HAS(division.device, "#include <cuda_fp16.h>");
  CHECK_HAS(division.host, "#include <vector>");
  CHECK_HAS(division.host, "#include <mma.h>");  // ours, for its types
  CHECK_HAS(division.host, "#include <cuda_fp16.h>");
}

TEST(LaunchesInMacrosAreLaunches) {
  const Division division =
      Divide("#define RUN(f, n) \\\n  f<<<n, 32>>>(x, n)\n" + kKernel +
             "int launch(float* x) { RUN(k, 2); return 0; }\n");
  CHECK_EQ(division.obstacle, "");
  CHECK_HAS(division.host,
            "(::jaxkern_split::Configure(n, 32) ? (void)0 : (void)f(x, n))");
}

TEST(WhatIsNotCertainIsNotDivided) {
  CHECK_EQ(Why(""), "it has no kernel");
  CHECK_HAS(Why("int n;\n" + std::string("__global__ void k() { n = 1; }")),
            "the host's n");
  CHECK_HAS(Why("__device__ int f();\n" + kKernel + "int g() { return f(); }"),
            "the device's f");
  CHECK_HAS(Why("#include <cublas_v2.h>\n" + kKernel), "cublas_v2.h");
  CHECK_HAS(Why("#include \"/etc/passwd\"\n" + kKernel), "/etc/passwd");
  CHECK_HAS(Why("#define X <vector>\n#include X\n" + kKernel), "computed");
  CHECK_HAS(Why("#define NAME(x) k_##x\n" + kKernel), "pastes");
  CHECK_HAS(Why("#define OPEN {\n" + kKernel), "half of a pair");
  CHECK_HAS(Why("#define KERNEL(n) __global__ void n()\nKERNEL(k) {}\n"),
            "macro in the head");
  CHECK_HAS(Why("#ifdef __CUDACC__\n#endif\n" + kKernel), "__CUDACC__");
  CHECK_HAS(Why("#ifdef INFINITY\n#endif\n" + kKernel), "condition on");
  CHECK_HAS(Why(kKernel + "void f() {\n#if 0\n{\n#else\n}\n#endif\n}\n"),
            "cuts through");
  CHECK_HAS(Why(kKernel + "int f() { auto g = [] __device__ {}; return 0; }"),
            "device code inside");
  CHECK_HAS(Why("__global__ void k() { k<<<1, 1>>>(); }"),
            "a launch in device code");
  CHECK_HAS(Why("__global__ void k(float*) {}\nint f() { k<<<1, 1>>>(0); }"),
            "without a name");
  CHECK_HAS(Why("__global__ void k(int k) {}\nint f() { k<<<1, 1>>>(0); }"),
            "its kernel's name");
  CHECK_HAS(Why(kKernel + "struct S { S(); };\nS::S() : a(1) {}\n"), "outside");
  CHECK_HAS(Why(kKernel + "}"), "}");
  CHECK_HAS(Why(kKernel + "int launch() {"), "brackets");
}

TEST(TheHostHasNoBodiesOfTheDevicesMembers) {
  const Division division = Divide(
      "#define ON __device__ inline\n"
      "struct Op {\n  float base = {1};\n"
      "  Op(float b) : base{b} { base += 1; }\n"
      "  ON float operator()(float a) const {\n#pragma unroll\n"
      "    return __shfl(a);\n  }\n"
      "  template <int N> __device__ static int get(int n = {}) { return N; }\n"
      "  __host__ __device__ int both() { return 7; }\n};\n"
      "template <class F> __global__ void k(F f, float* x) { *x = f(*x); }\n"
      "int launch(float* x) { k<<<1, 1>>>(Op(2), x); return 0; }\n");
  CHECK_EQ(division.obstacle, "");
  CHECK(!Has(division.host, "__shfl"));
  CHECK(!Has(division.host, "pragma"));
  CHECK(!Has(division.host, "return N"));
  CHECK_HAS(division.host, "base += 1");
  CHECK_HAS(division.host, "return 7");
  CHECK_HAS(division.device, "__shfl(a)");
  CHECK_EQ(LinesOf(division.host), LinesOf(division.device));
}

TEST(CommentsAndStringsAreNoCode) {
  const Division division =
      Divide("// __global__ void no() { n = 1; }\n" + kKernel +
             "const char* text = \"k<<<1, 1>>>(x); }\";\n" + kLaunch);
  CHECK_EQ(division.obstacle, "");
  CHECK_HAS(division.host, "\"k<<<1, 1>>>(x); }\"");
}

TEST(OnlyTheFirstComplaintOfAnUnknownNameNamesIt) {
  using jaxkern::UndefinedName;
  const std::string first =
      "kernel.cu(2): error: identifier \"foo\" is undefined\n\n";
  CHECK_EQ(UndefinedName(first + "kernel.cu(3): error: expected a \";\"\n"),
           "foo");
  CHECK_EQ(UndefinedName("kernel.cu(1): error: expected a \";\"\n" + first),
           "");
  CHECK_EQ(UndefinedName("a.h(2): error: identifier \"foo\" is undefined\n"),
           "");
  CHECK_EQ(
      UndefinedName("kernel.cu(2): error: identifier \"__f\" is undefined\n"),
      "");
  CHECK_EQ(UndefinedName(""), "");
}

TEST(WrongSyntaxIsAllThatIsSaid) {
  using jaxkern::SyntaxErrors;
  const std::string semicolon = "kernel.cu(12): error: expected a \";\"\n  }\n";
  const std::string expression =
      "kernel.cu(7): error: expected an expression\n";
  CHECK(SyntaxErrors(semicolon + expression) == (std::vector<int>{12, 7}));
  CHECK(SyntaxErrors("").empty());
  CHECK(SyntaxErrors(semicolon + "a.h(1): error: expected a \";\"\n").empty());
  CHECK(SyntaxErrors("kernel.cu(1): error: expected a declaration\n").empty());
  CHECK(SyntaxErrors(semicolon +
                     "kernel.cu(2): error: identifier \"f\" is undefined\n")
            .empty());
}

TEST(LinesAgreeWithTheOneBefore) {
  using jaxkern::AgreeAt;
  CHECK(AgreeAt(3, "x\na\nb\n", "y\na\nb"));
  CHECK(!AgreeAt(2, "x\na\nb\n", "y\na\nb"));
  CHECK(!AgreeAt(3, "x\na\nb\n", "x\na\nc\n"));
}

TEST(WordsAreWhole) {
  using jaxkern::HasWord;
  CHECK(HasWord("foo", "foo"));
  CHECK(HasWord("a_foo = x->foo;", "foo"));
  CHECK(!HasWord("a_foo foo2 FOO", "foo"));
  CHECK(!HasWord("", "foo"));
}

}  // namespace
int main() { return jaxkern::testing::RunTests(); }
