// What is left of an evaluator that was killed.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <thread>

#include "bundle.h"
#include "check.h"
#include "jaxkern/evaluator.h"

namespace fs = std::filesystem;
using jaxkern::testing::TemporaryDirectory;

namespace {

/// Processes whose environment or command line mentions `mark`.
int CountMarked(const std::string& mark) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string pid = entry.path().filename();
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    if (pid == std::to_string(getpid())) continue;
    for (const char* file : {"/environ", "/cmdline"}) {
      std::ifstream stream(entry.path().string() + file);
      const std::string text((std::istreambuf_iterator<char>(stream)),
                             std::istreambuf_iterator<char>());
      if (text.find(mark) == std::string::npos) continue;
      ++count;
      break;
    }
  }
  return count;
}

bool AllGone(const std::string& mark) {
  for (int i = 0; i < 500; ++i) {
    if (CountMarked(mark) == 0) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

/// Starts ourselves as a program that evaluates `source`, with its scratch
/// directory in `directory`.
pid_t StartDriver(const std::string& directory, const std::string& source) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  setenv("TMPDIR", directory.c_str(), 1);
  execl("/proc/self/exe", "driver", directory.c_str(), source.c_str(), nullptr);
  _exit(127);
}

int Drive(const std::string& directory, const std::string& source) {
  jaxkern::Options options;
  options.cache_dir = directory + "/cache";
  jaxkern::Evaluator evaluator(options);
  jaxkern::Request request;
  request.problem = directory;
  request.source = source;
  request.run_timeout_s = 60;
  request.rules = false;
  evaluator.Evaluate({request});
  return 0;
}

bool HasScratch(const std::string& directory) {
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (entry.path().filename().string().compare(0, 8, "jaxkern-") == 0) {
      return true;
    }
  }
  return false;
}

/// Kills a driver that evaluates `source` once `started` says so.
void CheckNoOrphans(const TemporaryDirectory& directory,
                    const std::string& source,
                    const std::function<bool()>& started) {
  jaxkern::testing::WriteScaleBundle(directory);
  const pid_t driver = StartDriver(directory.path(), source);
  bool seen = false;
  for (int i = 0; i < 1000 && !seen; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    seen = started();
  }
  CHECK(seen);
  CHECK(CountMarked(directory.path()) >= 3);  // driver, guard and children
  CHECK(HasScratch(directory.path()));
  kill(driver, SIGKILL);
  waitpid(driver, nullptr, 0);
  CHECK(AllGone(directory.path()));
  CHECK(!HasScratch(directory.path()));
}

}  // namespace

TEST(AKilledEvaluatorLeavesNoRunningKernel) {
  const TemporaryDirectory directory;
  CheckNoOrphans(directory,
                 "#include <stdio.h>\n"
                 "extern \"C\" int launch(const float*, float*, long, float,\n"
                 "                      cudaStream_t) {\n"
                 "  fclose(fopen(\"started\", \"w\"));\n"
                 "  while (true) {}\n"
                 "}\n",
                 [&directory] {
                   std::error_code none;
                   for (fs::recursive_directory_iterator i(directory.path()), e;
                        i != e; i.increment(none)) {
                     if (i->path().filename() == "started") return true;
                   }
                   return false;
                 });
}

TEST(WithoutASandboxWhatAKernelStartedEndsToo) {
  const TemporaryDirectory directory;
  const std::string file = directory.path() + "/started";
  setenv("JAXKERN_WITHOUT", "landlock,seccomp", 1);
  CheckNoOrphans(directory,
                 "#include <stdlib.h>\n"
                 "extern \"C\" int launch(const float*, float*, long, float,\n"
                 "                      cudaStream_t) {\n"
                 "  return system(\"sleep 100 & touch " +
                     file +
                     "; sleep 100\");\n"
                     "}\n",
                 [&file] { return fs::exists(file); });
  unsetenv("JAXKERN_WITHOUT");
}

TEST(AKilledEvaluatorLeavesNoCompiler) {
  const TemporaryDirectory directory;
  // The compiler proper, a child of the driver that we start, waits for text.
  const std::string fifo = directory.path() + "/header";
  mkfifo(fifo.c_str(), 0600);
  int writer = -1;
  setenv("JAXKERN_TEST_INCLUDE", directory.path().c_str(), 1);
  CheckNoOrphans(directory, "#include \"header\"\n", [&] {
    writer = open(fifo.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    return writer >= 0;
  });
  close(writer);
}

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[0], "driver") == 0) {
    return Drive(argv[1], argv[2]);
  }
  return jaxkern::testing::RunTests();
}
