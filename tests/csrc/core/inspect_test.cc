// Libraries that the host compiler makes, read and judged.
#include "core/inspect.h"

#include <fcntl.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "check.h"
#include "core/elf_symbols.h"
#include "core/fd.h"
#include "core/rules.h"

using jaxkern::Fd;
using jaxkern::Inspect;
using jaxkern::ReadElfSymbols;
using jaxkern::testing::TemporaryDirectory;

namespace {

/// A library made of `source`.
struct Built {
  explicit Built(const std::string& source, const std::string& flags = "") {
    directory.Write("a.cc", source);
    path = directory.path() + "/a.so";
    const std::string command = "cd " + directory.path() +
                                " && c++ -w -O1 -shared -fPIC a.cc -o a.so " +
                                flags;
    CHECK_EQ(std::system(command.c_str()), 0);
    std::ifstream file(path, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
  }

  /// "rule: evidence", or "" for none.
  std::string Verdict() const {
    const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    const auto offence = Inspect(fd.get());
    return offence ? offence->rule + ": " + offence->evidence : "";
  }

  TemporaryDirectory directory;
  std::string path;
  std::string bytes;
};

bool Has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string Verdict(const std::string& source, const std::string& flags = "") {
  return Built(source, flags).Verdict();
}

}  // namespace

TEST(SymbolsAreReadWithEitherHashTable) {
  for (const char* style : {"gnu", "sysv", "both"}) {
    const Built built(
        "#include <math.h>\nextern \"C\" double launch(double x) { return "
        "cbrt(x); } static int hidden() { return 1; } int seen;",
        std::string("-Wl,--hash-style=") + style);
    const auto symbols = ReadElfSymbols(built.bytes.data(), built.bytes.size());
    CHECK(symbols.has_value());
    CHECK(Has(symbols->imported, "cbrt"));
    CHECK(Has(symbols->exported, "launch"));
    CHECK(Has(symbols->exported, "seen"));
    CHECK(!Has(symbols->exported, "_ZL6hiddenv"));
    CHECK(Has(symbols->needed, "libm.so.6"));
  }
}

TEST(ALibraryThatExportsNothingHasItsImportsRead) {
  const Built built("#include <dlfcn.h>\nstatic void* p = dlopen(0, 0);",
                    "-Wl,--hash-style=gnu -fvisibility=hidden");
  CHECK_EQ(built.Verdict(), "loads_code: imports dlopen");
}

TEST(StrippedSectionHeadersHideNothing) {
  Built built(
      "#include <unistd.h>\nextern \"C\" int launch() { return fork(); }",
      "-Wl,-s");
  // e_shoff, e_shnum and e_shstrndx
  std::fill_n(built.bytes.begin() + 40, 8, 0);
  std::fill_n(built.bytes.begin() + 60, 4, 0);
  built.directory.Write("a.so", built.bytes);
  CHECK_EQ(built.Verdict(), "starts_processes: imports fork");
}

TEST(BrokenFilesAreRefusedAndHarmNobody) {
  const Built built("extern \"C\" int launch() { return 1; }");
  for (size_t size = 0; size < built.bytes.size(); size += 61) {
    ReadElfSymbols(built.bytes.data(), size);
  }
  uint64_t state = 1;
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = built.bytes;
    for (int i = 0; i < 8; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      // Most of what is read lies in front.
      bytes[(state >> 33) % std::min<size_t>(bytes.size(), 4096)] =
          static_cast<char>(state >> 20);
    }
    ReadElfSymbols(bytes.data(), bytes.size());
  }
  CHECK(!ReadElfSymbols(nullptr, 0));
  CHECK(
      !ReadElfSymbols("\x7f"
                      "ELF",
                      4));
}

TEST(WhatNoKernelNeedsIsNamed) {
  CHECK_EQ(Verdict("#include <dlfcn.h>\nextern \"C\" void* launch() { return "
                   "dlsym(0, \"cublasSgemm_v2\"); }"),
           "loads_code: imports dlsym");
  CHECK_EQ(Verdict("extern \"C\" int cublasCreate_v2(void*);\n"
                   "extern \"C\" int launch() { return cublasCreate_v2(0); }"),
           "calls_library: imports cublasCreate_v2");
  CHECK_EQ(
      Verdict("#include <sys/socket.h>\nextern \"C\" int launch() { return "
              "socket(2, 1, 0); }"),
      "uses_network: imports socket");
  CHECK_EQ(Verdict("#include <stdio.h>\nextern \"C\" int launch() { return "
                   "fopen(\"/proc/self/maps\", \"r\") != 0; }"),
           "opens_files: imports fopen");
  CHECK_HAS(Verdict("#include <fstream>\nextern \"C\" int launch() { return "
                    "std::ifstream(\"case0.y.npy\").get(); }"),
            "opens_files: imports _ZN");
  CHECK_EQ(Verdict("#include <unistd.h>\nextern \"C\" int launch() { return "
                   "syscall(57); }"),
           "tampers: imports syscall");
  CHECK_EQ(Verdict("extern \"C\" int launch() { return 1; }",
                   "-Wl,--no-as-needed -lresolv"),
           "calls_library: needs libresolv.so.2");
}

TEST(AnOffenceHasOneNameInTheTextAndInTheLibrary) {
  const std::string c = "extern \"C\" ";
  for (const auto& [rule, source] :
       std::vector<std::pair<std::string, std::string>>{
           {"loads_code", "#include <dlfcn.h>\n" + c +
                              "void* launch() { return dlopen(0, 1); }"},
           {"starts_processes", "#include <spawn.h>\n" + c +
                                    "int launch(char** v) { return "
                                    "posix_spawn(0, *v, 0, 0, v, v); }"},
           {"opens_files", "#include <fcntl.h>\n" + c +
                               "int launch() { return open(\"a\", 0); }"},
           {"uses_network", "#include <sys/socket.h>\n" + c +
                                "int launch() { return socket(2, 1, 0); }"},
           {"tampers", "#include <sys/mman.h>\n" + c +
                           "int launch(void* p) { return mprotect(p, 1, 7); }"},
           {"calls_library", c + "int cublasSgemm(int);\n" + c +
                                 "int launch() { return cublasSgemm(3); }"},
           {"replaces_runtime", c + "int cudaEventRecord() { return 0; }"},
           {"replaces_runtime", c + "int f() asm(\"clock_gettime\");\n" + c +
                                    "int f() { return 0; }"},
           {"replaces_runtime",
            c + "int f() { return 0; }\n" + c +
                "int cudaEventRecord() __attribute__((alias(\"f\")));"},
           {"replaces_runtime", "#pragma redefine_extname f cudaEventRecord\n" +
                                    c + "int f();\n" + c +
                                    "int f() { return 0; }"}}) {
    const auto breach = jaxkern::FindBreach(source);
    CHECK_EQ(breach ? breach->rule : "", rule);
    CHECK_HAS(Verdict(source), rule + ": ");
  }
}

TEST(NamesBuiltByMacrosAreNamesAllTheSame) {
  CHECK_EQ(
      Verdict("#include <dlfcn.h>\n#define GLUE(a, b) a##b\n"
              "extern \"C\" void* launch() { return GLUE(dlo, pen)(0, 1); }"),
      "loads_code: imports dlopen");
}

TEST(OtherNamesOfAFunctionAreKnown) {
  const std::string fortified = "-O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2";
  CHECK_EQ(Verdict("#include <unistd.h>\nstatic char all[64];\n"
                   "extern \"C\" int launch(int n) { return read(0, all, n); }",
                   fortified),
           "tampers: imports __read_chk");
  CHECK_EQ(Verdict("#include <fcntl.h>\nextern \"C\" int launch(const char* "
                   "name, int how) { return open(name, how); }",
                   fortified),
           "opens_files: imports __open_2");
  const auto called = [](const std::string& name) {
    return Verdict("extern \"C\" long " + name +
                   "(...);\n"
                   "extern \"C\" long launch() { return " +
                   name + "(0); }");
  };
  CHECK_EQ(called("_IO_fopen"), "opens_files: imports _IO_fopen");
  CHECK_EQ(called("_IO_file_fopen"), "opens_files: imports _IO_file_fopen");
  CHECK_EQ(called("__open64"), "opens_files: imports __open64");
  CHECK_EQ(called("__readlink_chk"), "opens_files: imports __readlink_chk");
  CHECK_EQ(called("__libc_fork"), "starts_processes: imports __libc_fork");
  CHECK_EQ(called("_IO_popen"), "starts_processes: imports _IO_popen");
  CHECK_EQ(called("__recvfrom_chk"), "uses_network: imports __recvfrom_chk");
  CHECK_EQ(called("__pread64_chk"), "tampers: imports __pread64_chk");
  CHECK_EQ(Verdict("extern \"C\" long __clock_gettime() { return 0; }"),
           "replaces_runtime: defines __clock_gettime");
}

TEST(AFortifiedHonestKernelPasses) {
  const Built built(
      "#include <stdio.h>\n#include <string.h>\n#include <string>\n"
      "extern \"C\" int launch(const char* from, int n) {\n"
      "  char text[32]; static float table[64];\n"
      "  memcpy(text, from, n); memset(table, 0, n); strcpy(text + 3, from);\n"
      "  snprintf(text + 9, n, \"%d\", n); printf(text, table[n]);\n"
      "  return std::string(text).size();\n}",
      "-O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fstack-protector-strong "
      "-fstack-clash-protection");
  const auto symbols = ReadElfSymbols(built.bytes.data(), built.bytes.size());
  for (const char* name :
       {"__memcpy_chk", "__memset_chk", "__strcpy_chk", "__snprintf_chk",
        "__printf_chk", "__stack_chk_fail"}) {
    if (!Has(symbols->imported, name)) std::printf("no %s\n", name);
    CHECK(Has(symbols->imported, name));
  }
  CHECK_EQ(built.Verdict(), "");
}

TEST(ReplacingTheClockIsNamed) {
  CHECK_EQ(Verdict("extern \"C\" int cudaEventElapsedTime(float* ms, void*, "
                   "void*) { *ms = 0; return 0; }"),
           "replaces_runtime: defines cudaEventElapsedTime");
  CHECK_EQ(Verdict("extern \"C\" int clock_gettime(int, void*) { return 0; }"),
           "replaces_runtime: defines clock_gettime");
  CHECK_EQ(Verdict("extern \"C\" void jaxkern_launch() {}"),
           "replaces_runtime: defines jaxkern_launch");
}

TEST(HonestKernelsPass) {
  CHECK_EQ(
      Verdict("extern \"C\" int jaxkern_entry(void**, void*) { return 0; }"),
      "");
  // Names that only resemble, or that nobody else sees.
  CHECK_EQ(Verdict("extern \"C\" int cudaScaleKernel() { return 0; }\n"
                   "namespace mine { int clock_gettime() { return 0; }\n"
                   "int fork() { return 1; } }\n"
                   "static int open(int x) { return x; }\n"
                   "extern \"C\" int launch() { return mine::fork() + open(1); "
                   "} // dlopen, system, cublasCreate"),
           "");
  // What a launch function may well use.
  CHECK_EQ(Verdict("#include <algorithm>\n#include <cassert>\n"
                   "#include <chrono>\n#include <cmath>\n#include <cstdio>\n"
                   "#include <iostream>\n#include <map>\n#include <mutex>\n"
                   "#include <string>\n#include <thread>\n#include <vector>\n"
                   "static std::map<std::string, std::vector<float>> table;\n"
                   "static std::mutex mutex;\n"
                   "extern \"C\" int launch(int n) {\n"
                   "  assert(n > 0);\n"
                   "  std::lock_guard<std::mutex> lock(mutex);\n"
                   "  table[\"a\"].resize(n, std::exp(1.0f * n));\n"
                   "  std::printf(\"%d\\n\", n); std::cout << n << std::endl;\n"
                   "  std::thread([] {}).join();\n"
                   "  if (n > 7) throw std::string(\"large\");\n"
                   "  auto now = std::chrono::steady_clock::now();\n"
                   "  return now.time_since_epoch().count() % 2;\n}",
                   "-pthread"),
           "");
}

int main() { return jaxkern::testing::RunTests(); }
