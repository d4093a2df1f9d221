#include "core/rules.h"

#include "check.h"

namespace {

using jaxkern::Breach;
using jaxkern::FindBreach;

/// The rule a text breaks, "" if none.
std::string Rule(const std::string& source) {
  const auto breach = FindBreach(source);
  return breach ? breach->rule : "";
}

std::string Evidence(const std::string& source) {
  const auto breach = FindBreach(source);
  return breach ? breach->evidence : "";
}

void CheckRule(const std::string& rule,
               const std::vector<std::string>& sources) {
  for (const std::string& source : sources) {
    const std::string got = Rule(source);
    if (got != rule) std::printf("in: %s\n", source.c_str());
    CHECK_EQ(got, rule);
  }
}

TEST(HeadersArePathless) {
  CheckRule("opens_files",
            {"#include \"/etc/passwd\"", "#include </etc/passwd>",
             "#include \"../problem.json\"", "# include <a/../../b>",
             "%:include </etc/passwd>", "#inc\\\nlude <//etc/passwd>",
             "#include_next <math.h>", "#embed \"/etc/passwd\"",
             "#define H </etc/passwd>\n#include H\n",
             "#define F \"/etc/passwd\"\n#define H F\n#include H\n",
             "#include STRING(x)\n", "/\\\n/ /*\n#include </etc/passwd>\n//*/",
             "#if __has_include(\"/etc/shadow\")\n#endif\n",
             "#if defined(A) || __has_include(</home/x>)\n#endif",
             "#define FR\nauto a = FR\"(\";\n#include </x>\n//)\";"});
  CheckRule("loads_code", {"#include <dlfcn.h>", "#include \"elf.h\""});
  CheckRule("starts_processes", {"#include <spawn.h>"});
  CheckRule("opens_files", {"#include <fcntl.h>", "#include <sys/stat.h>"});
  CheckRule("uses_network",
            {"#include <sys/socket.h>", "#include <netinet/in.h>"});
  CheckRule("tampers", {"#include <sys/mman.h>", "#include <linux/bpf.h>"});
  CheckRule("", {"#include <cuda_runtime.h>", "#include \"cuda_fp16.h\"",
                 "#include <algorithm>", "#include \"helper_cuda.h\"",
                 "#include <sys/time.h>", "#include <cub/cub.cuh>",
                 "#define H <cuda_fp16.h>\n#include H\n",
                 "#if __has_include(<cuda_fp8.h>)\n#endif\n",
                 "// #include \"/etc/passwd\"\n",
                 "const char* s = \"\\\n#include </etc/passwd>\";",
                 "auto s = R\"(\n#include </etc/passwd>\n)\";",
                 "#if 0\n#include \"/usr/include/math.h\"\n#endif\n",
                 "/* #include </etc/passwd> */"});
}

TEST(DeadCodeEndsAtItsElse) {
  CheckRule(
      "opens_files",
      {"#if 0\n#if 1\n#else\n#endif\n#else\n#include </a>\n#endif\n",
       "#if 0\n#endif\n#include </a>\n", "#if 1\n#include </a>\n#endif\n"});
}

TEST(AssemblerIsForTheDevice) {
  CheckRule("replaces_runtime",
            {"asm(\".globl x\");",
             "extern \"C\" int g() __asm__(\"cudaEventRecord\");",
             "extern int table[8] asm(\"x\");", "extern int x asm(\"y\");"});
  CheckRule(
      "opens_files",
      {"__device__ void f() { asm(\".inc\" \"bin \\\"/etc/passwd\\\"\"); }",
       "#define I \".incbin\"\n__device__ void f() { asm(I \" x\"); }"});
  CheckRule("tampers",
            {"void f() { asm(\"nop\"); }",
             "void f() { __asm__ volatile (\"cpuid\"); }", "asm(\"nop\");",
             "void f() { if (a) b(); else asm(\"nop\"); }",
             "#define DEVICE\nDEVICE void f() { asm(\"nop\"); }",
             "__device__ int a() { return 1; }\nvoid f() { asm(\"nop\"); }"});
  CheckRule(
      "", {"__device__ void f() { asm(\"ld.global.f32 %0, [%1];\" : : ); }",
           "__global__ void f() { if (1) { asm volatile (\"bar.sync 0;\"); } }",
           "#define DEV __device__ inline\nDEV void f() { asm(\"x;\"); }",
           "template <int N> struct S { static __device__ void f() {\n"
           "  asm(\"x;\"); } };",
           "auto f = [] __device__ (int i) { asm(\"x;\"); };",
           "CUTE_DEVICE void f() { asm(\"x;\"); }",
           "#define WAIT(n) asm volatile(\"cp.async.wait_group %0;\" :: "
           "\"n\"(n))\n",
           "__device__ void f() {\n#ifdef A\n if (a) {\n#else\n if (b) {\n"
           "#endif\n }\n asm(\"x;\");\n}",
           "// asm(\"nop\");\n", "int asmx; void f() { puts(\"asm(1)\"); }"});
}

TEST(AttributesThatRunOrRename) {
  CheckRule("runs_at_load",
            {"__attribute__((constructor)) void f() {}",
             "__attribute__((unused, __destructor__)) void f() {}",
             "[[gnu::constructor(101)]] void f() {}",
             "__attribute__((section(\".init_array\"))) void (*p)() = f;"});
  CheckRule("replaces_runtime", {"int f() __attribute__((alias(\"g\")));",
                                 "int f() __attribute__ ( ( ifunc(\"g\")));"});
  CheckRule("fast_math",
            {"__attribute__((optimize(\"O3\", \"fast-math\"))) void f() {}"});
  CheckRule("",
            {"struct __attribute__((aligned(16))) A { float x[4]; };",
             "__attribute__((optimize(\"O3\"))) void f() {}",
             "[[nodiscard]] int f(); int section, alias, constructor;",
             "__attribute__((always_inline, visibility(\"default\"))) int f();",
             "// __attribute__((constructor))\n", "int x = a[b[0]];"});
}

TEST(PragmasThatChangeOptions) {
  CheckRule("fast_math", {"#pragma GCC optimize(\"Ofast\")",
                          "#pragma GCC optimize (\"O3,fast-math\")",
                          "_Pragma(\"GCC optimize(\\\"fast-math\\\")\")",
                          "%:pragma GCC opti\\\nmize(\"Ofast\")"});
  CheckRule("opens_files", {"#pragma GCC dependency \"/etc/passwd\""});
  CheckRule("replaces_runtime",
            {"#pragma redefine_extname f clock_gettime", "#pragma weak f = g"});
  CheckRule(
      "", {"#pragma unroll 4", "#pragma once", "#pragma GCC optimize(\"O3\")",
           "_Pragma(\"unroll\")", "#pragma GCC diagnostic ignored \"-Wunused\"",
           "#pragma nv_diag_suppress 177", "// #pragma weak f = g"});
}

TEST(LineNumbersAreTheirs) {
  CheckRule("forges_lines", {"#line 7\n", "#line 1 \"signature\"\n",
                             "# 1 \"/usr/include/x.h\" 3\n", "%:line 3"});
  CheckRule("", {"int x = __LINE__; // #line 7\n", "#define line 3\n#\n"});
}

TEST(SymbolsOfOthersAreNotDefined) {
  CheckRule(
      "replaces_runtime",
      {"cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s) {\n"
       "  return cudaSuccess; }",
       "extern \"C\" int clock_gettime(int, timespec* t) { return 0; }",
       "extern \"C\" { int clock_gettime(int, timespec*) noexcept {} }",
       "namespace a { extern \"C\" cudaError_t cudaEventElapsedTime("
       "float* f, cudaEvent_t, cudaEvent_t) { *f = 0; return (cudaError_t)"
       "0; } }",
       "auto std::chrono::steady_clock::now() noexcept -> time_point {}",
       "extern \"C\" int jaxkern_entry(void** a, cudaStream_t s) {}",
       "#define jaxkern_entry mine\n"});
  CheckRule("", {"void cudaCheck(cudaError_t e) { if (e) exit(1); }",
                 "static void cudaFree(int) {}",
                 "namespace mine { void cudaMemcpy(int) {} }",
                 "void write(float* y) { y[0] = 1; }",
                 "struct T { float time() { return 0; } };",
                 "int launch() { if (cudaMalloc(&p, 4)) { return 2; } }",
                 "extern \"C\" cudaError_t cudaEventRecord(cudaEvent_t);",
                 "__device__ long long clock(int a) { return a; }",
                 "__global__ void jaxkern_add_kernel(float* y) {}",
                 "void f() { auto t = std::chrono::steady_clock::now(); }"});
}

TEST(LibrariesAreCalledInLiveCodeOnly) {
  CheckRule("calls_library", {"int launch() { cublasSgemm(h, n); }",
                              "int launch() { cub::DeviceReduce::Sum(a, b); }",
                              "int launch() { thrust::sort(a, b); }"});
  CheckRule("", {"#include <cublas_v2.h>\n",
                 "#ifdef USE_CUBLAS\nvoid f() { cublasSgemm(h, n); }\n#endif\n",
                 "__global__ void k() { cub::BlockReduce<float, 32> r; }",
                 "// cublasSgemm(h)\n", "const char* s = \"cublasSgemm(\";",
                 "thrust::complex<float> z;", "void cublass() {}"});
}

TEST(EvidenceIsTheLine) {
  CHECK_EQ(Evidence("int a;\n  #include </etc/passwd> // x\r\n"),
           "line 2: #include </etc/passwd> // x");
  CHECK_EQ(Evidence("/* a\nb */\n#pragma weak a = \x01\n"),
           "line 3: #pragma weak a = ?");
  CHECK(FindBreach("#line 3\n")->message.find("line numbers") == 0);
}

TEST(AnyBytesAreRead) {
  for (const std::string source :
       {"#", "#include", "#include <", "asm", "asm(", "[[", "__attribute__((",
        "#pragma", "_Pragma(", "#define", "#if 0", "#endif\n#else\n}", "%:",
        "cudaFree(", "\\", "#define A A\n#include A\n", "::now(", "cub::"}) {
    FindBreach(source);
  }
}

}  // namespace

int main() { return jaxkern::testing::RunTests(); }
