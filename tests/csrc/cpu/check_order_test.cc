#include "backends/cpu/check_order.h"

#include "check.h"

namespace {

using jaxkern::Order;
using jaxkern::Record;

Order Started() {
  Order order;
  order.StartLaunch();
  order.StartBlock();
  return order;
}

TEST(OwnAccessesAreOrdered) {
  Order order = Started();
  const Record mine = order.Now(7, 0, false);
  CHECK(order.Before(mine, 7));
  CHECK(!order.Before(mine, 8));
  CHECK(order.Before(Record(), 8));
}

TEST(ABarrierOrdersAllThreadsOfTheBlock) {
  Order order = Started();
  const Record early = order.Now(0, 0, false);
  order.BlockBarrier();
  CHECK(order.Before(early, 1000));
  CHECK(!order.Before(order.Now(0, 0, false), 1000));
}

TEST(AWarpOperationOrdersTheLanesThatTakePart) {
  Order order = Started();
  const Record early = order.Now(33, 0, false);
  const Record other = order.Now(40, 0, false);
  order.WarpBarrier(1, 0x7);  // threads 32, 33, 34
  CHECK(order.Before(early, 34));
  CHECK(!order.Before(early, 35));
  CHECK(!order.Before(early, 2));
  CHECK(!order.Before(other, 34));
  CHECK(!order.Before(order.Now(33, 0, false), 34));
  order.WarpBarrier(1, 1u << 2 | 1u << 8);  // 34 passes on what it has seen
  CHECK(order.Before(early, 40));
}

TEST(AtomicsOrderWhatPrecedesOneBeforeWhatFollowsTheOther) {
  Order order = Started();
  const Record early = order.Now(0, 0, false);
  order.Synchronise(0);
  CHECK(!order.Before(early, 64));
  order.Synchronise(64);
  CHECK(order.Before(early, 64));
  CHECK(!order.Before(order.Now(0, 0, false), 64));
}

TEST(BlocksOfALaunchAreOrderedByAtomicsAloneAndLaunchesAlways) {
  Order order = Started();
  const Record first = order.Now(0, 0, false);
  order.BlockBarrier();
  order.StartBlock();
  CHECK(!order.InBlock(first));
  CHECK(!order.Before(first, 0));
  order.Synchronise(5);
  CHECK(!order.Before(first, 0));  // the first block has released nothing
  const Record second = order.Now(0, 0, false);
  order.Synchronise(0);
  order.StartBlock();
  CHECK(!order.Before(second, 0));
  order.Synchronise(3);
  CHECK(order.Before(second, 0));
  CHECK_EQ(order.BlockIndex(first), 0u);
  CHECK_EQ(order.BlockIndex(second), 1u);
  order.StartLaunch();
  order.StartBlock();
  CHECK(order.Before(first, 0));
}

}  // namespace

int main() { return jaxkern::testing::RunTests(); }
