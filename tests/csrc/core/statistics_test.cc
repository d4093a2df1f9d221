#include "core/statistics.h"

#include "check.h"

using jaxkern::Median;
using jaxkern::MedianInterval;
using jaxkern::Race;
using jaxkern::SpeedupOf;

TEST(MediansOfOddAndEvenCounts) {
  CHECK_EQ(Median({}), 0.0);
  CHECK_EQ(Median({3, 1, 2}), 2.0);
  CHECK_EQ(Median({4, 1, 3, 2}), 2.5);
}

TEST(TheIntervalOfTheMedianLiesBetweenOrderStatistics) {
  // For 10 samples the second smallest and the second largest, for 97.9 %.
  const auto ten = MedianInterval({9, 8, 7, 6, 5, 4, 3, 2, 1, 0});
  CHECK_EQ(ten.low, 1.0);
  CHECK_EQ(ten.high, 8.0);
  const auto two = MedianInterval({5, 4});
  CHECK_EQ(two.low, 4.0);
  CHECK_EQ(two.high, 5.0);
}

TEST(OutliersDoNotMakeAMedianImprecise) {
  std::vector<double> samples(20, 100.0);
  samples[3] = 1e6;
  CHECK(jaxkern::IsPrecise(samples));
  for (size_t i = 0; i < samples.size(); ++i) samples[i] = 100.0 + i;
  CHECK(!jaxkern::IsPrecise(samples));
}

TEST(SpeedupComesWithAnInterval) {
  Race race;
  for (int i = 0; i < 40; ++i) {
    race.own_us.push_back(10 + 0.1 * (i % 5));
    race.baseline_us.push_back(20 + 0.1 * (i % 7));
  }
  const auto speedup = SpeedupOf({race});
  CHECK(speedup.low > 1.9 && speedup.low <= speedup.value);
  CHECK(speedup.high < 2.1 && speedup.high >= speedup.value);
  CHECK(speedup.low < speedup.high);
}

TEST(WhatSlowsBothDoesNotWidenTheInterval) {
  Race race;
  for (int i = 0; i < 40; ++i) {
    const double slow = i < 20 ? 1 : 3;
    race.own_us.push_back(10 * slow);
    race.baseline_us.push_back(20 * slow);
  }
  const auto speedup = SpeedupOf({race});
  CHECK_EQ(speedup.low, 2.0);
  CHECK_EQ(speedup.high, 2.0);
}

TEST(CasesAreAddedUp) {
  const Race small{std::vector<double>(6, 1), std::vector<double>(6, 4)};
  const Race large{std::vector<double>(6, 9), std::vector<double>(6, 16)};
  CHECK_EQ(SpeedupOf({small, large}).value, 2.0);
  CHECK_EQ(SpeedupOf({small, large}).low, 2.0);
}

TEST(FewSamplesOrNoneGiveNoInterval) {
  const Race five{std::vector<double>(5, 1), std::vector<double>(5, 4)};
  CHECK_EQ(SpeedupOf({five}).value, 4.0);
  CHECK_EQ(SpeedupOf({five}).low, 0.0);
  CHECK_EQ(SpeedupOf({five}).high, 0.0);
  CHECK_EQ(SpeedupOf({}).value, 0.0);
  const Race alone{std::vector<double>(9, 1), {}};
  CHECK_EQ(SpeedupOf({alone}).value, 0.0);
}

int main() { return jaxkern::testing::RunTests(); }
