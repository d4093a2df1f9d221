#include "core/diagnosis.h"

#include "bundle.h"
#include "check.h"

namespace {

using jaxkern::Evaluator;
using jaxkern::FillPlaces;
using jaxkern::IsDiagnosable;
using jaxkern::Options;
using jaxkern::Request;
using jaxkern::Result;
using jaxkern::Status;
using jaxkern::testing::TemporaryDirectory;
using jaxkern::testing::WriteScaleBundle;

constexpr char kLines[] =
    "0x0000000000001a2b\n"
    "/usr/include/device.h:7\n"
    "/tmp/scratch/kernel.cu:12 (discriminator 2)\n"
    "/tmp/scratch/kernel.cu:30\n"
    "0x0000000000000010\n"
    "??:0\n";

/// The verdict on a launch that returns this, on a device without a checker;
/// the fake cpu device finds faults by what a launch returns.
Result Returning(const std::string& value, bool diagnose) {
  TemporaryDirectory bundle, cache;
  WriteScaleBundle(bundle);
  Options options;
  options.device = "cuda";
  options.cache_dir = cache.path();
  Evaluator evaluator(options);
  Request request;
  request.problem = bundle.path();
  request.source =
      "extern \"C\" int launch(const float*, float*, long n, float, "
      "cudaStream_t) { return " +
      value + "; }\n";
  request.diagnose = diagnose;
  return evaluator.Evaluate({request})[0];
}

TEST(AnAddressIsTheInnermostLineInTheSource) {
  CHECK_EQ(FillPlaces("{F:1a2b}: a race at {L:1a2b}", "kernel.cu", kLines),
           "kernel.cu:12: a race at line 12");
}

TEST(AnAddressWithoutALineIsSaidToBeUnknown) {
  CHECK_EQ(FillPlaces("{F:10}: at {L:10}, {L:99}", "kernel.cu", kLines),
           "kernel.cu: at an unknown line, an unknown line");
  CHECK_EQ(FillPlaces("{F:1a2b}", "kernel.cu", ""), "kernel.cu");
}

TEST(OtherBracesStay) {
  CHECK_EQ(FillPlaces("assert({1}) {x: 3} {L:zz} {", "kernel.cu", kLines),
           "assert({1}) {x: 3} {L:zz} {");
}

TEST(WhatNeverRanHasNoDiagnosis) {
  Result result;
  result.stage = "run";
  for (Status status :
       {Status::kRuntimeError, Status::kLaunchError, Status::kTimeout,
        Status::kWrongAnswer, Status::kNonfinite}) {
    result.status = status;
    CHECK(IsDiagnosable(result));
  }
  for (Status status : {Status::kOk, Status::kCompileError, Status::kInfraError,
                        Status::kUnsupported}) {
    result.status = status;
    CHECK(!IsDiagnosable(result));
  }
  result.status = Status::kTimeout;
  result.stage = "compile";
  CHECK(!IsDiagnosable(result));
}

TEST(TheCpuDeviceExaminesWhatFailedOnAnother) {
  const Result result = Returning("10000", true);
  CHECK(result.status == Status::kLaunchError);
  CHECK_EQ(result.diagnosis, "kernel.cc: a fault, in case n=2, a=2.0");
  CHECK_EQ(Returning("10000", false).diagnosis, "");
  CHECK_EQ(Returning("5", true).diagnosis, "");
}

TEST(AFaultCountsMoreThanAHintFromASmallerCase) {
  CHECK_EQ(Returning("n == 2 ? 10001 : 10000", true).diagnosis,
           "kernel.cc: a fault, in case n=3, a=2.0");
  CHECK_EQ(Returning("10001", true).diagnosis,
           "perhaps a fault, in case n=2, a=2.0");
}

}  // namespace

int main() { return jaxkern::testing::RunTests(); }
