// Whatever a candidate does, it has one result with the right status, and the
// next one is unaffected. Over the fake toolchain and device, and without the
// rules that would keep most of these candidates from running at all.
#include <stdlib.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "bundle.h"
#include "check.h"
#include "jaxkern/evaluator.h"

namespace fs = std::filesystem;
using jaxkern::Evaluator;
using jaxkern::Options;
using jaxkern::Request;
using jaxkern::Result;
using jaxkern::Status;
using jaxkern::testing::kScaleKernel;
using jaxkern::testing::TemporaryDirectory;

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double kTimeout = 240;  // reading a flood takes them minutes
#else
constexpr double kTimeout = 30;
#endif
constexpr char kRight[] = "for (long i = 0; i < n; ++i) y[i] = a * x[i];";

struct Fixture {
  explicit Fixture(const std::string& device = "cpu") {
    WriteScaleBundle(directory);
    setenv("TMPDIR", directory.path().c_str(), 1);  // of the scratch directory
    options.device = device;
    options.cache_dir = directory.path() + "/cache";
    evaluator = std::make_unique<Evaluator>(options);
    unsetenv("TMPDIR");
  }

  Request MakeRequest(const std::string& body) const {
    Request request;
    request.problem = directory.path();
    request.source =
        "#include <fcntl.h>\n#include <pthread.h>\n#include <signal.h>\n"
        "#include <stdio.h>\n#include <stdlib.h>\n#include <sys/socket.h>\n"
        "#include <unistd.h>\n";
    if (body.find("std::") != std::string::npos) {  // these take a second
      request.source +=
          "#include <stdexcept>\n#include <string>\n#include <thread>\n";
    }
    request.source +=
        "extern \"C\" int launch(const float* x, float* y, long n, float a,\n"
        "                      cudaStream_t) {\n" +
        body + "\n  return 0;\n}\n";
    request.run_timeout_s = kTimeout;
    request.rules = false;  // the sandbox is what is tried
    return request;
  }

  Result Run(const std::string& body) {
    return evaluator->Evaluate({MakeRequest(body)})[0];
  }

  /// The number of the process that a candidate runs in.
  std::string Process(bool fresh = false) {
    Request request = MakeRequest("y[0] = getpid();");
    request.fresh_process = fresh;
    const std::string log = evaluator->Evaluate({request})[0].log;
    const size_t at = log.find("y[0] = ");
    return at == std::string::npos ? log
                                   : log.substr(at, log.find(',', at) - at);
  }

  TemporaryDirectory directory;
  Options options;
  std::unique_ptr<Evaluator> evaluator;
};

/// The fault has its status and a log that says so; a right kernel after it is
/// right.
void CheckFault(Fixture* f, const std::string& body, Status status,
                const std::string& part) {
  const Result result = f->Run(body);
  CHECK_EQ(std::string(StatusName(result.status)), StatusName(status));
  CHECK_HAS(result.log, part);
  CHECK(result.run_s < kTimeout);
  CHECK(f->Run(kRight).status == Status::kOk);
}

bool HasSeccomp(const Fixture& f) {
  return f.evaluator->Describe().find("(seccomp)") != std::string::npos;
}

}  // namespace

TEST(ProcessesAreRefused) {
  Fixture f;
  if (!HasSeccomp(f)) return;
  CheckFault(&f, "while (true) fork();", Status::kRuntimeError,
             "kernels may not make in case n=2, a=2.0\nprinted: a kernel may "
             "not make the system call clone");
  CheckFault(&f, "if (setsid()) y[0] = 0;", Status::kRuntimeError, "setsid");
  CheckFault(&f, "kill(getpid(), SIGKILL);", Status::kRuntimeError, "kill");
  CheckFault(&f, "kill(getppid(), SIGTERM);", Status::kRuntimeError, "kill");
  CheckFault(&f, "return system(\"true\");", Status::kRuntimeError,
             "ended by the sandbox");
}

TEST(AFloodOfOutputIsCutOff) {
  Fixture f;
  CheckFault(&f, "std::string s(1 << 20, 'x'); while (true) puts(s.c_str());",
             Status::kRuntimeError, "printed more than 64 MiB in case n=2");
}

TEST(AFloodOfThreadsIsCutOff) {
  Fixture f;
  if (!HasSeccomp(f)) return;  // then there is a limit on processes
  CheckFault(&f,
             "pthread_attr_t small; pthread_attr_init(&small);\n"
             "pthread_attr_setstacksize(&small, 16384);\n"
             "pthread_t t; while (true) pthread_create(&t, &small,\n"
             "  [](void*) -> void* { sleep(100); return nullptr; }, nullptr);",
             Status::kRuntimeError, "started more than 1024 threads");
}

TEST(TheChannelIsNotTheCandidates) {
  Fixture f;
  CheckFault(&f, "close(3); while (true) sleep(1);", Status::kRuntimeError,
             "broke the worker's channel");
  CheckFault(&f, "if (write(3, \"nonsense\", 8)) while (true) sleep(1);",
             Status::kRuntimeError, "broke the worker's channel");
  CheckFault(
      &f,
      "std::string s = R\"({\"kind\":3,\"text\":\"\",\"status\":0,)\"\n"
      "R\"(\"rule\":\"\",\"index\":0,\"baseline\":-1,)\"\n"
      "R\"(\"reusable\":true,\"timing\":[0,0,1,[],[],[],0,0,0,0,[],[],[]],)\"\n"
      "R\"(\"notes\":[]})\";\n"
      "std::string t = \"[1\";\n"
      "for (int i = 0; i < 40000; ++i) t += \",1\";\n"
      "s.replace(s.find(\"[]\"), 2, t + \"]\");\n"
      "while (true) send(3, s.data(), s.size(), 0);",
      Status::kRuntimeError, "flooded the worker's channel");
}

TEST(EndsOfEveryKindAreReported) {
  Fixture f;
  CheckFault(&f, "abort();", Status::kRuntimeError, "aborted in case");
  CheckFault(&f, "quick_exit(0);", Status::kRuntimeError,
             "exited with code 0 instead of");
  CheckFault(&f,
             "std::thread([] { throw std::runtime_error(\"oh\"); }).join();",
             Status::kRuntimeError, "terminate called");
  CheckFault(&f, "volatile char* p = (char*)8; *p = 1;", Status::kRuntimeError,
             "segmentation fault");
  CheckFault(&f,
             "struct R { static long f(volatile long* p) { volatile long a[99];"
             " a[0] = *p; return f(a) + a[1]; } }; y[0] = R::f(&n);",
             Status::kRuntimeError, "segmentation fault");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  CheckFault(&f, "std::string s(1ll << 40, 0);", Status::kOutOfMemory,
             "std::bad_alloc");
#endif
}

TEST(WhatGoesOnAfterALaunchEndsWithIt) {
  Fixture f;
  const std::string file = "fclose(fopen(\"left\", \"w\"));\n";
  CHECK(f.Run(file + kRight).status == Status::kOk);
  const std::string thread = "std::thread([] { while (true) {} }).detach();\n";
  CHECK(f.Run(thread + file + kRight).status == Status::kOk);
  CHECK(f.Run(kRight).status == Status::kOk);
  for (const auto& entry :
       fs::recursive_directory_iterator(f.directory.path())) {
    CHECK(entry.path().filename() != "left");
  }
}

TEST(ACandidateCannotReadTheBundleOrWriteElsewhere) {
  Fixture f;
  if (f.evaluator->Describe().find("(Landlock") == std::string::npos) return;
  const std::string bundle = f.directory.path() + "/problem.json";
  CHECK(f.Run("if (fopen(\"" + bundle + "\", \"r\")) return 9;" + kRight)
            .status == Status::kOk);
  CHECK(f.Run("if (fopen(\"" + bundle + "2\", \"w\")) return 9;" + kRight)
            .status == Status::kOk);
  CHECK(!fs::exists(bundle + "2"));
}

TEST(ACandidateCannotIncludeOtherFiles) {
  Fixture f;
  if (f.evaluator->Describe().find("compilers: files") == std::string::npos) {
    return;
  }
  const std::string secret = f.directory.Write("secret.h", "int secret;\n");
  const Result result =
      f.Run("return 0; }\n#include \"" + secret + "\"\nint other() {");
  CHECK(result.status == Status::kCompileError);
  CHECK_HAS(result.log, "Permission denied");
}

TEST(AKilledWorkerIsReplacedAndItsCandidateTriedAgain) {
  setenv("JAXKERN_WITHOUT", "landlock,seccomp", 1);
  Fixture f;
  const std::string mark = f.directory.path() + "/mark";
  const Result result =
      f.Run("if (access(\"" + mark + "\", F_OK) != 0) {\n  close(creat(\"" +
            mark + "\", 0600)); kill(getpid(), SIGKILL); }" + kRight);
  CHECK(result.status == Status::kOk);
  CHECK_EQ(f.evaluator->stats().retries, 1);
  const Result again = f.Run("kill(getpid(), SIGKILL);");
  CHECK(again.status == Status::kOutOfMemory);
  CHECK_EQ(f.evaluator->stats().retries, 2);
  CHECK_EQ(f.evaluator->stats().infra_errors, 0);
  CHECK_EQ(f.evaluator->stats().results, 2);
  unsetenv("JAXKERN_WITHOUT");
}

TEST(ADeviceThatStartsNoWorkersIsTakenOutOfService) {
  const TemporaryDirectory marks;
  const std::string broken = marks.path() + "/broken";
  setenv("JAXKERN_FAKE_BROKEN", broken.c_str(), 1);
  Fixture f("cuda");
  CHECK(f.Run(kRight).status == Status::kOk);
  CHECK_EQ(f.evaluator->stats().out_of_service, "");
  marks.Write("broken", "");
  // The spare, started before, serves one more; its successor is not needed.
  CHECK(f.Run("return 700;").status == Status::kRuntimeError);
  f.Run("return 700;");
  const Result result = f.Run(kRight);
  CHECK(result.status == Status::kInfraError);
  CHECK_EQ(result.log,
           "the device is out of service: no worker can be started on it: the "
           "device fell off the bus\n");
  const int64_t started = f.evaluator->stats().workers_started;
  CHECK(f.Run("y[0] = 3;").status == Status::kInfraError);
  CHECK_EQ(f.evaluator->stats().workers_started, started);
  CHECK(f.evaluator->stats().infra_errors >= 2);
  CHECK_THROWS(Evaluator{f.options}, std::invalid_argument,
               "device: cannot be used: the device fell off the bus");
  unsetenv("JAXKERN_FAKE_BROKEN");
}

TEST(AFreshProcessIsOneCandidatesOwn) {
  Fixture f("cuda");
  const std::string kept = f.Process();
  CHECK_HAS(kept, "y[0] = ");
  const std::string first = f.Process(/*fresh=*/true);
  const std::string second = f.Process(/*fresh=*/true);
  CHECK(first != kept);
  CHECK(second != kept && second != first);
  CHECK_EQ(f.Process(), kept);
}

TEST(AKeptWorkersSuccessorIsStartedAhead) {
  Fixture f("cuda");
  CHECK(f.Run(kRight).status == Status::kOk);
  CHECK_EQ(f.evaluator->stats().workers_started, 2);
  CHECK(f.Run("return 700;").status == Status::kRuntimeError);
  CHECK_EQ(f.evaluator->stats().workers_started, 2);
  CHECK(f.Run("return 0;").status == Status::kWrongAnswer);
  CHECK_EQ(f.evaluator->stats().workers_started, 3);
}

TEST(ASpareThatDoesNotStartIsDoneWithout) {
  const TemporaryDirectory marks;
  setenv("JAXKERN_FAKE_BROKEN", (marks.path() + "/broken").c_str(), 1);
  Fixture f("cuda");
  unsetenv("JAXKERN_FAKE_BROKEN");
  const std::string kept = f.Process();
  f.Process(/*fresh=*/true);  // takes the spare there is
  marks.Write("broken", "");
  f.Process(/*fresh=*/true);  // takes the next one
  const int64_t started = f.evaluator->stats().workers_started;
  Request timed = f.MakeRequest(kRight);
  for (timed.repetitions = 1; timed.repetitions < 4; ++timed.repetitions) {
    CHECK(f.evaluator->Evaluate({timed})[0].status == Status::kOk);
  }
  CHECK_EQ(f.evaluator->stats().workers_started, started);
  CHECK_EQ(f.evaluator->stats().out_of_service, "");
  CHECK_EQ(f.Process(), kept);
}

TEST(AKeptWorkerIsReplacedWhenSomethingIsLeftInIt) {
  for (const char* leaves : {"std::thread([] { sleep(100); }).detach();",
                             "fclose(fopen(\"left\", \"w\"));", "dup(1);"}) {
    Fixture f("cuda");
    const std::string first = f.Process();
    CHECK_EQ(f.Process(), first);
    const Result result = f.Run(leaves + std::string(kRight));
    CHECK(result.status == Status::kOk || result.rule == "left_threads");
    CHECK(f.Process() != first);
  }
}

TEST(TheMemoryBudgetIsChecked) {
  Fixture f("cuda");
  Options options = f.options;
  options.memory_bytes = int64_t{1} << 40;
  CHECK_THROWS(Evaluator{options}, std::invalid_argument,
               "memory_bytes: expected at most the 1073741824 bytes that are "
               "free on it, got 1099511627776");
  options.memory_bytes = 20;  // case n=3 has two arrays of 12 bytes
  Evaluator small(options);
  CHECK_THROWS(small.Evaluate({f.MakeRequest(kRight)}), std::invalid_argument,
               "problem: expected arrays that fit in a worker's memory_bytes "
               "= 20, got 0.0 MiB in case n=3, a=2.0 of scale");
  options.device = "cpu";
  for (int64_t bytes : {int64_t{-1}, int64_t{1} << 20, int64_t{1} << 60}) {
    options.memory_bytes = bytes;
    CHECK_THROWS(Evaluator{options}, std::invalid_argument,
                 "memory_bytes: expected 0, or at least ");
  }
}

int main() { return jaxkern::testing::RunTests(); }
