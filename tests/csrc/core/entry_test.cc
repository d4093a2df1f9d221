#include "core/entry.h"

#include "check.h"

using jaxkern::Argument;
using jaxkern::Dtype;

namespace {

jaxkern::Problem MakeProblem() {
  jaxkern::Problem problem;
  problem.arguments = {
      {"x", Argument::Kind::kInput, Dtype::kFloat16, {}},
      {"y", Argument::Kind::kOutput, Dtype::kFloat32, {}},
      {"n", Argument::Kind::kAttribute, Dtype::kInt64, {}},
      {"flag", Argument::Kind::kAttribute, Dtype::kBool, {}},
  };
  return problem;
}

}  // namespace

TEST(TheSignatureIsTheTasks) {
  CHECK_EQ(jaxkern::Signature(MakeProblem()),
           "extern \"C\" int launch(const __half* x, float* y, int64_t n, "
           "bool flag, cudaStream_t stream)");
}

TEST(TheTrampolineDereferencesEveryArgument) {
  const std::string text = jaxkern::EntryText(MakeProblem());
  CHECK_HAS(text, "#include <cuda_fp16.h>\n");
  CHECK(text.find("cuda_bf16.h") == std::string::npos);
  CHECK_HAS(text,
            "launch(*static_cast<const __half* const*>(a[0]), "
            "*static_cast<float* const*>(a[1]), "
            "*static_cast<int64_t const*>(a[2]), "
            "*static_cast<bool const*>(a[3]), stream)");
}

TEST(ACheckedBuildKnowsItsBuffersByName) {
  const std::string text = jaxkern::EntryText(MakeProblem());
  CHECK_HAS(text,
            "#ifdef JAXKERN_CHECK\n"
            "jaxkern_check_argument(*static_cast<void**>(a[0]), \"x\", "
            "sizeof(__half), true);\n"
            "jaxkern_check_argument(*static_cast<void**>(a[1]), \"y\", "
            "sizeof(float), false);\n"
            "#endif\n");
}

int main() { return jaxkern::testing::RunTests(); }
