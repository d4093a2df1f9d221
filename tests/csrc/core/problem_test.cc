#include "core/problem.h"

#include <cstring>
#include <stdexcept>

#include "bundle.h"
#include "check.h"
#include "core/problem_store.h"

using jaxkern::ReadProblem;
using jaxkern::testing::ScaleProblem;
using jaxkern::testing::TemporaryDirectory;
using jaxkern::testing::WriteScaleBundle;
using nlohmann::json;

namespace {

/// The problem with the value at `pointer` changed is refused like this.
void CheckRefused(const char* pointer, const json& value,
                  const std::string& part) {
  json problem = ScaleProblem();
  problem[json::json_pointer(pointer)] = value;
  const TemporaryDirectory directory;
  WriteScaleBundle(directory, problem);
  CHECK_THROWS(ReadProblem(directory.path()), std::invalid_argument,
               directory.path() + part);
}

}  // namespace

TEST(ABundleIsRead) {
  const TemporaryDirectory directory;
  WriteScaleBundle(directory);
  const auto problem = ReadProblem(directory.path());
  CHECK_EQ(problem->name, "scale");
  CHECK_EQ(problem->arguments.size(), size_t{4});
  CHECK_EQ(problem->cases.size(), size_t{2});
  CHECK_EQ(problem->baselines.size(), size_t{1});
  CHECK_EQ(problem->baselines[0].name, "naive");
  CHECK_EQ(problem->baselines[0].source,
           std::string(jaxkern::testing::kScaleKernel));
  const jaxkern::Case& second = problem->cases[1];
  CHECK_EQ(second.label, "n=3, a=2.0");
  CHECK(second.timed);
  CHECK_EQ(std::get<int64_t>(second.attributes[0]), 3);
  CHECK_EQ(std::get<float>(second.attributes[1]), 2.0f);
  // The first case's 8 bytes are padded to 64.
  CHECK_EQ(second.inputs[0].offset, size_t{64});
  float x, y;
  std::memcpy(&x, problem->inputs.data + 64 + 4, sizeof x);
  std::memcpy(&y, problem->expected.data + 64 + 8, sizeof y);
  CHECK_EQ(x, 0.5f);
  CHECK_EQ(y, 14.0f);
}

TEST(VariantsHaveTheShapesOfTheirCase) {
  const TemporaryDirectory directory;
  jaxkern::testing::WriteScaleVariants(directory);
  const auto problem = ReadProblem(directory.path());
  CHECK_EQ(problem->cases[0].variants(), 1);
  const jaxkern::Case& timed = problem->cases[1];
  CHECK_EQ(timed.variants(), 6);
  CHECK_EQ(timed.variant(0).inputs[0].offset, timed.inputs[0].offset);
  const jaxkern::Array& last = timed.variant(5).outputs[0];
  CHECK_EQ(last.bytes, timed.outputs[0].bytes);
  float y;
  std::memcpy(&y, problem->expected.data + last.offset + 8, sizeof y);
  CHECK_EQ(y, 14.0f * 6);
}

TEST(TheKindOfACasesInputsIsInItsLabel) {
  json problem = ScaleProblem();
  problem["cases"][1]["kind"] = "wide magnitudes";
  const TemporaryDirectory directory;
  WriteScaleBundle(directory, problem);
  const auto read = ReadProblem(directory.path());
  CHECK_EQ(read->cases[0].label, "n=2, a=2.0");
  CHECK_EQ(read->cases[1].label, "n=3, a=2.0, wide magnitudes");
  CheckRefused("/cases/1/kind", 3,
               "/problem.json: cases[1].kind: expected a string, got 3");
}

TEST(AVariantOfAnotherShapeIsRefused) {
  json problem = ScaleProblem();
  problem["cases"][1]["variants"].push_back(problem["cases"][0]);
  const TemporaryDirectory directory;
  WriteScaleBundle(directory, problem);
  CHECK_THROWS(ReadProblem(directory.path()), std::invalid_argument,
               "case0.x.npy");
}

TEST(TheHashIsOfContents) {
  const TemporaryDirectory one, same, other;
  for (const auto* directory : {&one, &same, &other}) {
    WriteScaleBundle(*directory);
  }
  other.Write("case1.y.npy", jaxkern::testing::FloatNpy({0, 1, 15}));
  const std::string hash = jaxkern::ProblemHash(one.path());
  CHECK_EQ(hash.size(), size_t{16});
  CHECK_EQ(jaxkern::ProblemHash(same.path()), hash);
  CHECK(jaxkern::ProblemHash(other.path()) != hash);
}

TEST(MalformedFieldsAreNamed) {
  CheckRefused("/format", 2, "/problem.json: format: expected 1, got 2");
  CheckRefused("/name", 3, "/problem.json: name: expected a string, got 3");
  CheckRefused("/arguments/0/kind", "inout",
               "/problem.json: arguments[0].kind: expected \"input\", "
               "\"output\" or \"attribute\", got \"inout\"");
  CheckRefused("/arguments/0/dtype", "float8",
               "/problem.json: arguments[0].dtype: expected \"float64\"");
  CheckRefused("/arguments/2/dtype", "float16",
               "/problem.json: arguments[2].dtype: expected \"int64\", "
               "\"float32\" or \"bool\" for an attribute, got \"float16\"");
  CheckRefused("/arguments/0/name", "x; int y",
               "/problem.json: arguments[0].name: expected a C++ identifier");
  CheckRefused("/arguments/1/name", "x",
               "/problem.json: arguments[1].name: expected a name not used");
  CheckRefused("/arguments/0/shape/0", "m",
               "/problem.json: cases[0].attributes.m: expected a value");
  CheckRefused("/arguments/1/kind", "input",
               "/problem.json: arguments: expected at least one output");
  CheckRefused("/cases", json::array(),
               "/problem.json: cases: expected at least one case, got none");
  CheckRefused("/cases/1/rtol", -1,
               "/problem.json: cases[1].rtol: expected a number of at least 0");
  CheckRefused("/cases/1/timed", 1,
               "/problem.json: cases[1].timed: expected true or false, got 1");
  CheckRefused("/cases/0/attributes/n", 2.5,
               "/problem.json: cases[0].attributes.n: expected an integer");
  CheckRefused("/cases/0/inputs", json::object(),
               "/problem.json: cases[0].inputs.x: expected a value");
  CheckRefused("/cases/0/inputs/x", "../x.npy",
               "/problem.json: cases[0].inputs.x: expected a file name");
  CheckRefused("/cases/0/attributes/n", 5,
               "/case0.x.npy: shape: expected (5,), got (2,)");
  CheckRefused("/baseline", "gone.cu", "/gone.cu: expected a readable file");
}

TEST(FurtherBaselinesFollowTheFirst) {
  json problem = ScaleProblem();
  problem["baselines"] = {{{"name", "vendor"},
                           {"file", "vendor.cu"},
                           {"libraries", {"cublas", "cub"}}}};
  const TemporaryDirectory directory;
  WriteScaleBundle(directory, problem);
  directory.Write("vendor.cu", "first");
  const std::string hash = jaxkern::ProblemHash(directory.path());
  directory.Write("vendor.cu", "second");
  CHECK(jaxkern::ProblemHash(directory.path()) != hash);
  const auto read = ReadProblem(directory.path());
  CHECK_EQ(read->baselines.size(), size_t{2});
  CHECK_EQ(read->baselines[0].name, "naive");
  CHECK_EQ(read->baselines[1].name, "vendor");
  CHECK_EQ(read->baselines[1].source, "second");
  CHECK_EQ(read->baselines[1].libraries.size(), size_t{2});
  CHECK_EQ(read->baselines[1].libraries[1], "cub");
}

TEST(MalformedBaselinesAreNamed) {
  const auto refused = [](const json& baselines, const std::string& part) {
    json problem = ScaleProblem();
    problem["baselines"] = baselines;
    const TemporaryDirectory directory;
    WriteScaleBundle(directory, problem);
    CHECK_THROWS(ReadProblem(directory.path()), std::invalid_argument,
                 directory.path() + part);
  };
  const json good = {
      {"name", "other"}, {"file", "baseline.cu"}, {"libraries", json::array()}};
  const auto with = [&](const char* key, const json& value) {
    json changed = good;
    changed[key] = value;
    return json::array({changed});
  };
  refused(3, "/problem.json: baselines: expected an array, got 3");
  refused(with("name", "naive"),
          "/problem.json: baselines[0].name: expected a name not used before");
  refused(with("name", "a b"),
          "/problem.json: baselines[0].name: expected an identifier");
  refused(with("file", "../x"),
          "/problem.json: baselines[0].file: expected a file name");
  refused(with("file", "gone.cu"), "/gone.cu: expected a readable file");
  refused(with("libraries", "cub"),
          "/problem.json: baselines[0].libraries: expected an array");
  json many = json::array();
  for (int i = 0; i < 8; ++i) {
    many.push_back(with("name", "b" + std::to_string(i))[0]);
  }
  refused(many, "/problem.json: baselines: expected at most 8 with naive");
}

TEST(WhatIsNoJsonIsRefused) {
  const TemporaryDirectory directory;
  directory.Write("problem.json", "{\"format\": ");
  CHECK_THROWS(ReadProblem(directory.path()), std::invalid_argument,
               "/problem.json: expected JSON, got: ");
}

TEST(ADirectoryWithoutAProblemIsRefused) {
  const TemporaryDirectory directory;
  CHECK_THROWS(ReadProblem(directory.path()), std::invalid_argument,
               "/problem.json: expected a readable file");
}

TEST(TheStoreReadsAgainOnlyWhatChanged) {
  const TemporaryDirectory directory;
  WriteScaleBundle(directory);
  jaxkern::ProblemStore store(1 << 20);
  const auto first = store.Get(directory.path());
  CHECK(store.Get(directory.path()) == first);
  json problem = ScaleProblem();
  problem["name"] = "other";
  directory.Write("problem.json", problem.dump());
  CHECK_EQ(store.Get(directory.path())->name, "other");
}

TEST(TheStoreForgetsWhatDoesNotFit) {
  const TemporaryDirectory a, b;
  WriteScaleBundle(a);
  WriteScaleBundle(b);
  jaxkern::ProblemStore store(1);
  const auto first = store.Get(a.path());
  store.Get(b.path());
  CHECK(store.Get(a.path()) != first);
}

int main() { return jaxkern::testing::RunTests(); }
