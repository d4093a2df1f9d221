#include "core/schedule.h"

#include <set>

#include "check.h"

using jaxkern::Schedule;

TEST(NewVariantsEnterAtTheFirstTwoLaunchesAndAtEveryThird) {
  Schedule schedule(7, 0, 6);
  std::set<int> seen;
  for (int launch = 0; launch < 40; ++launch) {
    const bool fresh = seen.insert(schedule.Variant(launch)).second;
    CHECK_EQ(fresh, schedule.IsFresh(launch));
    CHECK_EQ(fresh, launch == 0 || (launch % 3 == 1 && launch <= 13));
  }
  CHECK_EQ(seen.size(), size_t{6});
}

TEST(ASeedDecidesTheOrder) {
  Schedule one(7, 0, 6), same(7, 0, 6);
  int differ_by_seed = 0, differ_by_case = 0;
  Schedule other_seed(8, 0, 6), other_case(7, 1, 6);
  for (int launch = 60; launch >= 0; --launch) {
    CHECK_EQ(one.Variant(launch), same.Variant(launch));
    differ_by_seed += one.Variant(launch) != other_seed.Variant(launch);
    differ_by_case += one.Variant(launch) != other_case.Variant(launch);
  }
  CHECK(differ_by_seed > 20);
  CHECK(differ_by_case > 20);
}

TEST(OneVariantIsAlwaysTheSame) {
  Schedule schedule(7, 3, 1);
  for (int launch = 0; launch < 5; ++launch) {
    CHECK_EQ(schedule.Variant(launch), 0);
    CHECK_EQ(schedule.IsFresh(launch), launch == 0);
  }
}

TEST(SecretsDiffer) { CHECK(jaxkern::SecretBits() != jaxkern::SecretBits()); }

int main() { return jaxkern::testing::RunTests(); }
