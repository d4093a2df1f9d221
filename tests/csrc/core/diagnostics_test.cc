#include "core/diagnostics.h"

#include "check.h"

using jaxkern::CleanMessage;
using jaxkern::CleanTail;
using jaxkern::CompilerLog;

TEST(ErrorsComeFirstWithTheirSourceLines) {
  const std::string log = CompilerLog(
      "In file included from /opt/jaxkern/include/cuda_runtime.h:3,\n"
      "                 from /tmp/build-x/kernel.cu:1:\n"
      "/tmp/build-x/kernel.cu: In function 'int launch()':\n"
      "/tmp/build-x/kernel.cu:3:7: warning: unused variable 'i'\n"
      "    3 |   int i = a /b/ c;\n"
      "      |       ^\n"
      "/tmp/build-x/kernel.cu:5:3: error: 'foo' was not declared\n"
      "    5 |   foo();\n"
      "      |   ^~~\n"
      "compilation terminated.\n");
  CHECK_EQ(log,
           "kernel.cu:5:3: error: 'foo' was not declared\n"
           "    5 |   foo();\n"
           "      |   ^~~\n"
           "kernel.cu:3:7: warning: unused variable 'i'\n"
           "    3 |   int i = a /b/ c;\n"
           "      |       ^\n");
}

TEST(NvccsFormIsUnderstood) {
  CHECK_EQ(CompilerLog("kernel.cu(4): error: expected a \";\"\n"
                       "  }\n"
                       "  ^\n"
                       "\n"
                       "1 error detected in the compilation of "
                       "\"/tmp/x/kernel.cu\".\n"),
           "kernel.cu(4): error: expected a \";\"\n  }\n  ^\n");
}

TEST(TemplateErrorsKeepTheLineThatAskedForThem) {
  CHECK_EQ(CompilerLog("/i/shim.h: In instantiation of 'void f(T) [with T = "
                       "int*]':\n"
                       "/t/kernel.cu:9:5:   required from here\n"
                       "/i/shim.h:2:3: error: no match\n"),
           "shim.h: In instantiation of 'void f(T) [with T = int*]':\n"
           "kernel.cu:9:5:   required from here\n"
           "shim.h:2:3: error: no match\n");
}

TEST(TheRewrittenLaunchIsNotShown) {
  CHECK_EQ(
      CompilerLog(
          "/t/kernel.cu: In instantiation of 'launch(float*)::<lambda(auto:1 "
          "...)>':\n"
          "/i/host.h:2:3:   required from 'void jaxkern_cpu::Launch(A, B)'\n"
          "/t/kernel.cu:4:5:   required from here\n"
          "/t/kernel.cu:4:9: error: 'run' was not declared in this scope\n"
          "    4 |   ::jaxkern_cpu::Launch(1, [=] { run(1); });\n"
          "      |                                  ~~~^~~\n"
          "/t/kernel.cu:7:1: error: expected '}'\n"
          "    7 | ;\n"),
      "kernel.cu:4:9: error: 'run' was not declared in this scope\n"
      "kernel.cu:7:1: error: expected '}'\n"
      "    7 | ;\n");
}

TEST(LongOutputIsCutAtAMessage) {
  std::string output;
  for (int i = 0; i < 500; ++i) {
    output += "/t/kernel.cu:" + std::to_string(i) + ":1: error: bad " +
              std::string(60, 'x') + "\n";
  }
  const std::string log = CompilerLog(output);
  CHECK(log.size() <= jaxkern::kLogBytes);
  CHECK(log.size() > jaxkern::kLogBytes / 2);
  CHECK_HAS(log, "kernel.cu:0:1: error");
  CHECK_HAS(log, "more errors\n");
}

TEST(OneHugeMessageIsCutToo) {
  CHECK(CompilerLog("k.cu:1:1: error: " + std::string(100000, 'x')).size() <=
        jaxkern::kLogBytes);
}

TEST(OutputWithoutAMessageIsKeptFromItsEnd) {
  CHECK_EQ(CompilerLog("nvcc fatal   : Unsupported gpu architecture\n"),
           "nvcc fatal   : Unsupported gpu architecture\n");
}

TEST(LinkerMessagesLoseTheirPaths) {
  CHECK_EQ(CompilerLog("/usr/bin/ld: /tmp/cc1.o: in function `launch':\n"
                       "kernel.cu:(.text+0x9): undefined reference to `f()'\n"
                       "collect2: error: ld returned 1 exit status\n"),
           "kernel.cu:(.text+0x9): undefined reference to `f()'\n"
           "collect2: error: ld returned 1 exit status\n");
}

TEST(MessagesLosePathsAndUnprintableBytes) {
  CHECK_EQ(CleanMessage("at \"/home/me/x.cu:3\": a / b \x1b[31m\xc3"),
           "at \"x.cu:3\": a / b ?[31m?");
  CHECK_EQ(CleanMessage("one\ntwo\nthree", 8), "one\ntwo\n");
  CHECK_EQ(CleanTail("one\ntwo\nthree", 9), "three");
}

int main() { return jaxkern::testing::RunTests(); }
