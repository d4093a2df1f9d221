#include "cli/flags.h"

#include "check.h"

using jaxkern::Flags;
using jaxkern::ParseFlags;
using jaxkern::Usage;

TEST(FlagsReachOptionsAndRequest) {
  const Flags flags =
      ParseFlags({"--bundle=b", "--device=cuda", "--repetitions=20", "x.cu",
                  "--compile_timeout=1.5", "--run_timeout=3", "--jobs=4",
                  "--run_workers=2", "--compiler=cc", "--cache_dir=c",
                  "--cache_gb=0.5", "--flush=false", "-"});
  CHECK(!flags.help && !flags.serve);
  CHECK_EQ(flags.request.problem, "b");
  CHECK_EQ(flags.request.repetitions, 20);
  CHECK_EQ(flags.request.compile_timeout_s, 1.5);
  CHECK_EQ(flags.request.run_timeout_s, 3.0);
  CHECK(!flags.request.flush);
  CHECK_EQ(flags.options.device, "cuda");
  CHECK_EQ(flags.options.compile_workers, 4);
  CHECK_EQ(flags.options.run_workers, 2);
  CHECK_EQ(flags.options.compiler, "cc");
  CHECK_EQ(flags.options.cache_dir, "c");
  CHECK_EQ(flags.options.cache_bytes, int64_t{1} << 29);
  CHECK(flags.files == (std::vector<std::string>{"x.cu", "-"}));
}

TEST(ServingAndReplayingNeedNeitherBundleNorFiles) {
  CHECK_EQ(ParseFlags({"--replay=r.json"}).replay, "r.json");
  CHECK(ParseFlags({"--serve"}).serve);
  CHECK_EQ(ParseFlags({"--serve"}).socket, "");
  CHECK_EQ(ParseFlags({"--serve=a.sock", "--bundle=b"}).socket, "a.sock");
}

TEST(MissesAreExplainedIfAsked) {
  CHECK(!ParseFlags({"--serve"}).options.explain_misses);
  CHECK(ParseFlags({"--serve", "--explain-miss"}).options.explain_misses);
}

TEST(HelpWinsOverMistakes) {
  CHECK(ParseFlags({"--help", "--colour=red"}).help);
}

TEST(HelpNamesEveryFlagAndFitsATerminal) {
  const std::string help = jaxkern::kHelp;
  for (const char* flag :
       {"--bundle=", "--device=", "--repetitions=", "--compile_timeout=",
        "--run_timeout=", "--jobs=", "--run_workers=", "--compiler=",
        "--cache_dir=", "--cache_gb=", "--explain-miss", "--flush=", "--serve",
        "--replay=", "--help"}) {
    CHECK_HAS(help, flag);
  }
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 80);
}

TEST(MistakesNameTheFlagExpectedAndGot) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{}, "--bundle: expected a directory, got nothing"},
      {{"--bundle=b"}, "expected at least one kernel file, got none"},
      {{"--bundle=b", "--colour=red", "x"}, "unknown flag --colour"},
      {{"--repetitions", "x"}, "expected --flag=value, got --repetitions"},
      {{"--repetitions=x"}, "--repetitions: expected a number, got \"x\""},
      {{"--repetitions=1.5"}, "--repetitions: expected an integer, got \"1.5"},
      {{"--repetitions=1e99"}, "--repetitions: expected an integer"},
      {{"--run_timeout=inf"}, "--run_timeout: expected a number"},
      {{"--cache_gb=0"}, "--cache_gb: expected more than 0"},
      {{"--serve="}, "--serve: expected a path, got nothing"},
      {{"--flush=1"}, "--flush: expected true or false, got \"1\""},
      {{"--replay=r", "x.cu"}, "--replay: expected no kernel files, got x.cu"},
      {{"--replay=r", "--serve"}, "expected --serve or --replay, got both"},
      {{"--replay="}, "--replay: expected a file, got nothing"},
      {{"--serve", "x.cu"}, "--serve: expected no kernel files, got x.cu"},
  };
  for (const auto& [arguments, message] : cases) {
    CHECK_THROWS(ParseFlags(arguments), Usage, message);
  }
}

int main() { return jaxkern::testing::RunTests(); }
