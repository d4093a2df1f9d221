#include "cli/request_line.h"

#include <sys/stat.h>

#include "check.h"

using jaxkern::ParseRequestLine;
using jaxkern::Request;
using jaxkern::RequestLine;
using jaxkern::testing::TemporaryDirectory;

namespace {

RequestLine Parse(const std::string& line) {
  Request defaults;
  defaults.repetitions = 3;
  return ParseRequestLine(line, defaults, /*max_file=*/100);
}

}  // namespace

TEST(FieldsReachTheRequestAndOthersAreDefaults) {
  const RequestLine line = Parse(
      R"({"id": "a", "bundle": "b", "source": "s\n", "run_timeout_s": 2})");
  CHECK_EQ(line.error, "");
  CHECK_EQ(line.id, "\"a\"");
  CHECK_EQ(line.request.problem, "b");
  CHECK_EQ(line.request.source, "s\n");
  CHECK_EQ(line.request.repetitions, 3);
  CHECK_EQ(line.request.run_timeout_s, 2.0);
  const RequestLine other = Parse(
      R"({"bundle":"b","source":"","repetitions":7,"compile_timeout_s":0.5})");
  CHECK_EQ(other.error, "");
  CHECK_EQ(other.id, "null");
  CHECK_EQ(other.request.repetitions, 7);
  CHECK_EQ(other.request.compile_timeout_s, 0.5);
  CHECK(other.request.flush);
  CHECK_EQ(other.request.seed, 0U);
  const RequestLine replay = Parse(
      R"({"bundle":"b","source":"","flush":false,"seed":"18446744073709551615"})");
  CHECK_EQ(replay.error, "");
  CHECK(!replay.request.flush);
  CHECK_EQ(replay.request.seed, ~uint64_t{0});
  CHECK_EQ(Parse(R"({"bundle":"b","source":"","seed":7})").request.seed, 7U);
}

TEST(ABundleOfTheCommandLineIsADefault) {
  Request defaults;
  defaults.problem = "b";
  CHECK_EQ(ParseRequestLine(R"({"source":"x"})", defaults, 9).error, "");
}

TEST(AFileIsReadUpToItsLimit) {
  const TemporaryDirectory directory;
  const std::string start =
      R"({"bundle":"b","file":")" + directory.path() + "/";
  directory.Write("a.cu", "text");
  directory.Write("big.cu", std::string(101, 'x'));
  CHECK_EQ(Parse(start + "a.cu\"}").request.source, "text");
  CHECK_HAS(Parse(start + "big.cu\"}").error, "expected at most 100 bytes");
  for (const char* file : {"none.cu", "", "fifo"}) {
    mkfifo((directory.path() + "/fifo").c_str(), 0600);
    CHECK_HAS(Parse(start + file + "\"}").error,
              "file: expected the path of a readable kernel file, got ");
  }
}

TEST(MistakesAreOneLineWithTheIdIfThereIsOne) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "expected JSON, got: parse error"},
      {"{\"id\": 1", "expected JSON, got: parse error"},
      {"\xff\xfe", "expected JSON, got: parse error"},
      {std::string(100000, '['), "expected JSON, got: parse error"},
      {"1e999", "expected JSON, got: number overflow"},
      {"[1]", "request: expected a JSON object, got array"},
      {"{}", "expected source or file, got neither"},
      {R"({"source":"","file":""})", "either source or file, got both"},
      {R"({"source":""})", "bundle: expected the directory of a bundle"},
      {R"({"id":{},"source":""})", "id: expected a string or a number"},
      {R"({"source":1})", "source: expected a string, got 1"},
      {R"({"source":"","repetitions":1.5})", "expected an integer, got 1.5"},
      {R"({"source":"","repetitions":1e99})", "expected an integer, got 1e+99"},
      {R"({"source":"","repetitions":99999999999})", "expected an integer"},
      {R"({"source":"","repetitions":true})", "expected a number, got true"},
      {R"({"source":"","run_timeout_s":"1"})", "expected a number, got \"1\""},
      {R"({"source":"","flush":1})", "flush: expected true or false, got 1"},
      {R"({"source":"","seed":-1})", "seed: expected an integer from 0"},
      {R"({"source":"","seed":1.5})", "seed: expected an integer from 0"},
      {R"({"source":"","seed":"99999999999999999999"})", "seed: expected"},
      {R"({"source":"","seed":""})", "seed: expected an integer from 0"},
      {R"({"source":"","sauce":1})", "unknown field \"sauce\""},
      {R"({"file":"-"})", "file: expected the path of a readable kernel file"},
  };
  for (const auto& [text, message] : cases) {
    const RequestLine line = Parse(text);
    CHECK_HAS(line.error, message);
    CHECK(line.error.find('\n') == std::string::npos);
  }
  CHECK_EQ(Parse(R"({"id":17,"sauce":1,"source":""})").id, "17");
}

TEST(AnAnswerIsOneLineOfJson) {
  CHECK_EQ(jaxkern::ErrorLine("7", "a\n\"b\""),
           "{\"id\":7,\"error\":\"a\\n\\\"b\\\"\"}\n");
  const std::string line = jaxkern::ResultLine("\"x\"", jaxkern::Result());
  CHECK_HAS(line, "{\"id\":\"x\",\"status\":\"infra_error\",");
  CHECK_EQ(line.find('\n'), line.size() - 1);
}

int main() { return jaxkern::testing::RunTests(); }
