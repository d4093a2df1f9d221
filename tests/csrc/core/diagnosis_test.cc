#include "core/diagnosis.h"

#include "check.h"

namespace {

using jaxkern::FillPlaces;
using jaxkern::IsDiagnosable;
using jaxkern::Result;
using jaxkern::Status;

constexpr char kLines[] =
    "0x0000000000001a2b\n"
    "/usr/include/device.h:7\n"
    "/tmp/scratch/kernel.cu:12 (discriminator 2)\n"
    "/tmp/scratch/kernel.cu:30\n"
    "0x0000000000000010\n"
    "??:0\n";

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

}  // namespace

int main() { return jaxkern::testing::RunTests(); }
