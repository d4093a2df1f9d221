#include "core/compare.h"

#include <cmath>
#include <cstring>

#include "check.h"

using jaxkern::Compare;
using jaxkern::Comparison;
using jaxkern::Dtype;
using jaxkern::Shape;

namespace {

template <typename T>
Comparison CompareVectors(Dtype dtype, const std::vector<T>& got,
                          const std::vector<T>& expected, double rtol,
                          double atol, Shape shape = {}) {
  if (shape.empty()) shape = {static_cast<int64_t>(got.size())};
  return Compare("y", dtype, shape, reinterpret_cast<const char*>(got.data()),
                 reinterpret_cast<const char*>(expected.data()), {rtol, atol});
}

Comparison Floats(const std::vector<float>& got,
                  const std::vector<float>& expected, double rtol = 0,
                  double atol = 0) {
  return CompareVectors(Dtype::kFloat32, got, expected, rtol, atol);
}

float Poison() {
  float value;
  std::memset(&value, jaxkern::PoisonByte(Dtype::kFloat32), sizeof value);
  return value;
}

}  // namespace

TEST(TheToleranceIsAtolPlusRtolTimesExpected) {
  // |2.5 - 2| = 0.5 and 0.1 + 0.2 * 2 = 0.5: just inside.
  CHECK_EQ(Floats({2.5f}, {2.0f}, 0.2, 0.1 + 1e-9).mismatches, 0);
  const Comparison outside = Floats({2.5f, 1.0f}, {2.0f, 1.0f}, 0.2, 0.09);
  CHECK_EQ(outside.mismatches, 1);
  CHECK_EQ(outside.max_abs_error, 0.5);
  CHECK_EQ(outside.max_rel_error, 0.25);
  CHECK_EQ(outside.first, "  y[0] = 2.5, expected 2\n");
}

TEST(IndicesFollowTheShape) {
  const Comparison comparison = CompareVectors<float>(
      Dtype::kFloat32, {0, 0, 0, 0, 7, 0}, {0, 0, 0, 0, 0, 0}, 0, 0, {2, 3});
  CHECK_EQ(comparison.first, "  y[1, 1] = 7, expected 0\n");
  CHECK_EQ(comparison.max_rel_error, 0.0);
}

TEST(KindsAreComparedBeforeValues) {
  CHECK_EQ(Floats({NAN, INFINITY}, {NAN, INFINITY}).mismatches, 0);
  CHECK_EQ(Floats({-INFINITY}, {INFINITY}, 1, 1).mismatches, 1);
  CHECK_EQ(Floats({1.0f}, {INFINITY}, 1, 1).mismatches, 1);
  CHECK_EQ(Floats({1.0f}, {INFINITY}, 1, 1).nonfinite, 0);
  const Comparison nan = Floats({NAN, 1.0f}, {1.0f, 1.0f}, 1, 1);
  CHECK_EQ(nan.mismatches, 1);
  CHECK_EQ(nan.nonfinite, 1);
}

TEST(WhatWasNeverWrittenIsNotANan) {
  const Comparison comparison = Floats({Poison(), 1.0f}, {1.0f, 1.0f}, 1, 1);
  CHECK_EQ(comparison.mismatches, 1);
  CHECK_EQ(comparison.untouched, 1);
  CHECK_EQ(comparison.nonfinite, 0);
  CHECK_EQ(comparison.first, "  y[0] = never written, expected 1\n");
}

TEST(IntegersMatchExactly) {
  const int64_t big = (int64_t{1} << 62) + 1;  // no double has this value
  const Comparison comparison =
      CompareVectors<int64_t>(Dtype::kInt64, {big, 5}, {big - 1, 5}, 1, 1);
  CHECK_EQ(comparison.mismatches, 1);
  CHECK_EQ(
      CompareVectors<int64_t>(Dtype::kInt64, {big}, {big}, 0, 0).mismatches, 0);
}

TEST(HalvesAreConverted) {
  // 0x3C00 = 1, 0x3C01 = 1 + 2^-10, 0x0001 = 2^-24, 0xFC00 = -Inf.
  CHECK_EQ(jaxkern::HalfToFloat(0x3C01), 1.0f + 1.0f / 1024);
  CHECK_EQ(jaxkern::HalfToFloat(0x0001), std::ldexp(1.0f, -24));
  CHECK_EQ(jaxkern::HalfToFloat(0xFC00), -INFINITY);
  const Comparison comparison =
      CompareVectors<uint16_t>(Dtype::kFloat16, {0x3C01}, {0x3C00}, 0, 0.0009);
  CHECK_EQ(comparison.mismatches, 1);
  CHECK_EQ(comparison.max_abs_error, 1.0 / 1024);
  // 0x4049 is 3.140625 in bfloat16.
  CHECK_EQ(jaxkern::Bfloat16ToFloat(0x4049), 3.140625f);
  CHECK_EQ(CompareVectors<uint16_t>(Dtype::kBfloat16, {0x4049}, {0x4049}, 0, 0)
               .mismatches,
           0);
}

TEST(OnlyTheFirstMismatchesAreShown) {
  const Comparison comparison =
      Floats(std::vector<float>(10000, 1), std::vector<float>(10000, 0));
  CHECK_EQ(comparison.mismatches, 10000);
  CHECK(comparison.first.size() < 200);
}

TEST(EqualBitsAndOthersMayAlternate) {
  // Chunks of 4,096 elements: the second differs, the others are the same.
  std::vector<float> got(3 * 4096, 3), expected = got;
  got[4096 + 7] = 4;
  got[2 * 4096] = expected[2 * 4096] = NAN;
  const Comparison comparison = Floats(got, expected);
  CHECK_EQ(comparison.mismatches, 1);
  CHECK_EQ(comparison.max_abs_error, 1.0);
  CHECK_EQ(comparison.max_rel_error, 1.0 / 3);
  CHECK_EQ(comparison.first, "  y[4103] = 4, expected 3\n");
}

TEST(NothingMatchesNothing) { CHECK_EQ(Floats({}, {}).mismatches, 0); }

int main() { return jaxkern::testing::RunTests(); }
