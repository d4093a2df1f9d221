// One cache, several evaluators' processes, some of which are killed.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "bundle.h"
#include "check.h"
#include "fixture.h"

namespace fs = std::filesystem;
using jaxkern::Evaluator;
using jaxkern::Options;
using jaxkern::Request;
using jaxkern::Result;
using jaxkern::Status;
using jaxkern::testing::Fixture;
using jaxkern::testing::TemporaryDirectory;
using jaxkern::testing::WriteScaleBundle;

namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Place {
  Place() { WriteScaleBundle(bundle); }

  Options MakeOptions() const {
    Options options;
    options.cache_dir = cache.path();
    options.compile_workers = 2;
    return options;
  }

  /// Right kernels of which no two are the same to a compiler. Their compiler
  /// needs a while.
  std::vector<Request> Requests(int count, const std::string& before) const {
    std::vector<Request> requests;
    for (int i = 0; i < count; ++i) {
      Request request;
      request.problem = bundle.path();
      request.source = Fixture::Kernel(
          "", "", before + "int f() { return " + std::to_string(i) + "; }\n");
      requests.push_back(request);
    }
    return requests;
  }

  TemporaryDirectory bundle, cache, notes;
};

/// What a child process has to say: a line of numbers in a file of its own.
void Note(const Place& place, const std::string& name, int64_t value) {
  place.notes.Write(name, std::to_string(value));
}

int64_t ReadNote(const Place& place, const std::string& name) {
  int64_t value = -1;
  std::ifstream(place.notes.path() + "/" + name) >> value;
  return value;
}

pid_t Start(const std::function<void()>& work) {
  const pid_t child = fork();
  if (child != 0) return child;
  work();
  std::fflush(stdout);
  _exit(jaxkern::testing::Failures() == 0 ? 0 : 1);
}

bool Succeeds(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void CheckAllOk(const std::vector<Result>& results) {
  for (const Result& result : results) {
    CHECK_EQ(std::string(StatusName(result.status)), "ok");
  }
}

}  // namespace

TEST(ProcessesThatWantTheSameCompileItOnce) {
  const Place place;
  const auto requests = place.Requests(6, "#include <string>\n");
  Evaluator(place.MakeOptions());  // so that nobody tries the sandbox any more
  std::vector<pid_t> children;
  for (int c = 0; c < 4; ++c) {
    children.push_back(Start([&, c] {
      Evaluator evaluator(place.MakeOptions());
      CheckAllOk(evaluator.Evaluate(requests));
      const jaxkern::Stats stats = evaluator.stats();
      Note(place, "misses" + std::to_string(c), stats.cache_misses);
      Note(place, "joined" + std::to_string(c), stats.cache_joined);
    }));
  }
  for (const pid_t child : children) CHECK(Succeeds(child));
  int64_t misses = 0, joined = 0;
  for (int c = 0; c < 4; ++c) {
    misses += ReadNote(place, "misses" + std::to_string(c));
    joined += ReadNote(place, "joined" + std::to_string(c));
  }
  CHECK_EQ(misses, 6);
  CHECK(joined > 0);
}

TEST(AKilledProcessInMidCompileBlocksNobody) {
  const Place place;
  // The compiler waits for text that does not come while the file is a pipe.
  const std::string header = place.bundle.path() + "/slow.h";
  mkfifo(header.c_str(), 0600);
  setenv("JAXKERN_TEST_INCLUDE", place.bundle.path().c_str(), 1);
  const auto requests = place.Requests(1, "#include \"slow.h\"\n");
  const pid_t holder = Start([&] {
    Evaluator evaluator(place.MakeOptions());
    evaluator.Evaluate(requests);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  const pid_t waiter = Start([&] {
    Evaluator evaluator(place.MakeOptions());
    CheckAllOk(evaluator.Evaluate(requests));
    Note(place, "misses", evaluator.stats().cache_misses);
    Note(place, "joined", evaluator.stats().cache_joined);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  CHECK_EQ(waitpid(waiter, nullptr, WNOHANG), 0);  // it waits
  fs::remove(header);
  place.bundle.Write("slow.h", "");
  const auto start = Clock::now();
  kill(holder, SIGKILL);
  waitpid(holder, nullptr, 0);
  CHECK(Succeeds(waiter));
  CHECK(SecondsSince(start) < 20);  // of 60 that its compiler may take
  CHECK_EQ(ReadNote(place, "misses"), 1);
  CHECK_EQ(ReadNote(place, "joined"), 1);
  unsetenv("JAXKERN_TEST_INCLUDE");
}

TEST(KillsAtAnyTimeLeaveACacheThatServesTheOthers) {
  const Place place;
  const auto requests = place.Requests(8, "");
  Evaluator(place.MakeOptions());
  for (int round = 0; round < 3; ++round) {
    std::vector<pid_t> victims;
    for (int c = 0; c < 3; ++c) {
      victims.push_back(Start([&] {
        Evaluator evaluator(place.MakeOptions());
        evaluator.Evaluate(requests);
      }));
    }
    const pid_t survivor = Start([&] {
      Evaluator evaluator(place.MakeOptions());
      CheckAllOk(evaluator.Evaluate(requests));
    });
    for (const pid_t victim : victims) {
      std::this_thread::sleep_for(std::chrono::milliseconds(70 + 40 * round));
      kill(victim, SIGKILL);
      waitpid(victim, nullptr, 0);
    }
    CHECK(Succeeds(survivor));
    fs::remove_all(place.cache.path() + "/builds");
  }
  Evaluator evaluator(place.MakeOptions());
  CheckAllOk(evaluator.Evaluate(requests));
  for (const auto& entry :
       fs::recursive_directory_iterator(place.cache.path() + "/builds")) {
    CHECK(entry.path().extension() != ".new");
  }
}

int main() { return jaxkern::testing::RunTests(); }
