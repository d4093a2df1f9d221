/// An evaluator over the fake toolchain and device. Candidates may call
///   extern "C" void fake(const char* what, double value);
/// to say what the fake device shall measure; see fake_device.cc.
#ifndef JAXKERN_TESTS_CORE_FIXTURE_H_
#define JAXKERN_TESTS_CORE_FIXTURE_H_

#include <memory>
#include <string>

#include "bundle.h"
#include "check.h"
#include "jaxkern/evaluator.h"

namespace jaxkern::testing {

/// A bundle, and an evaluator with an empty cache.
struct Fixture {
  explicit Fixture(const std::string& device = "cpu") {
    WriteScaleBundle(bundle);
    options.device = device;
    options.cache_dir = cache.path();
    evaluator = std::make_unique<Evaluator>(options);
  }

  Request MakeRequest(const std::string& source) const {
    Request request;
    request.problem = bundle.path();
    request.source = source;
    return request;
  }

  /// The verdict on a launch with this body, `x`, `y`, `n` and `a` given.
  Result RunBody(const std::string& body, const std::string& before = "") {
    return Evaluate(before +
                    "\nextern \"C\" int launch(const float* x, float* y, "
                    "long n, float a, cudaStream_t) {\n" +
                    body + "\n  return 0;\n}\n");
  }

  /// A right kernel that does something else, too: before and after its work.
  static std::string Kernel(const std::string& before,
                            const std::string& after = "",
                            const std::string& outside = "") {
    return outside +
           "\nextern \"C\" void fake(const char*, double);\n"
           "extern \"C\" int launch(const float* x, float* y, long n, float a, "
           "cudaStream_t) {\n" +
           before + "\n  for (long i = 0; i < n; ++i) y[i] = a * x[i];\n" +
           after + "\n  return 0;\n}\n";
  }

  /// The verdict with `repetitions` samples.
  Result Time(const std::string& source, int repetitions = 40) {
    Request request = MakeRequest(source);
    request.repetitions = repetitions;
    return evaluator->Evaluate({request})[0];
  }

  Result Evaluate(const std::string& source) {
    return evaluator->Evaluate({MakeRequest(source)})[0];
  }

  TemporaryDirectory bundle, cache;
  Options options;
  std::unique_ptr<Evaluator> evaluator;
};

inline void CheckVerdict(const Result& result, Status status,
                         const std::string& stage, const std::string& part) {
  CHECK_EQ(std::string(StatusName(result.status)), StatusName(status));
  CHECK_EQ(result.stage, stage);
  CHECK_HAS(result.log, part);
  CHECK(result.log.find("/tmp") == std::string::npos);
}

}  // namespace jaxkern::testing

#endif  // JAXKERN_TESTS_CORE_FIXTURE_H_
