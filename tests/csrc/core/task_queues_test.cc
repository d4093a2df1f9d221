#include "core/task_queues.h"

#include <atomic>
#include <thread>
#include <vector>

#include "check.h"
#include "core/pipeline.h"

using jaxkern::Stage;
using jaxkern::Stats;
using jaxkern::Task;
using jaxkern::TaskPtr;
using jaxkern::TaskQueues;

namespace {

TaskPtr NewTask(int seed = 0) {
  auto task = std::make_shared<Task>();
  task->seed = static_cast<uint64_t>(seed);
  return task;
}

Stats Count(const TaskQueues& queues) {
  Stats stats;
  queues.Count(&stats);
  return stats;
}

/// Takes on a thread of its own, and says what came.
struct Taker {
  Taker(TaskQueues* queues, std::initializer_list<Stage> stages)
      : thread([this, queues, wanted = std::vector<Stage>(stages)] {
          Stage from = Stage::kNone;
          const TaskPtr task = queues->Take({wanted[0]}, &from);
          seed = task ? static_cast<int>(task->seed) : -1;
          done = true;
        }) {}
  ~Taker() {
    if (thread.joinable()) thread.join();
  }

  bool IsDoneSoon() const {
    for (int i = 0; i < 100 && !done; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return done;
  }

  std::atomic<bool> done{false};
  std::atomic<int> seed{-2};
  std::thread thread;
};

}  // namespace

TEST(TheFirstStageThatHasATaskGoesFirst) {
  TaskQueues queues({});
  queues.Push(Stage::kBuild, NewTask(1));
  queues.Push(Stage::kCheck, NewTask(2));
  Stage from = Stage::kNone;
  const TaskPtr first = queues.Take({Stage::kCheck, Stage::kBuild}, &from);
  CHECK_EQ(first->seed, 2u);
  CHECK(from == Stage::kCheck);
  const TaskPtr second = queues.Take({Stage::kCheck, Stage::kBuild}, &from);
  CHECK_EQ(second->seed, 1u);
  CHECK(from == Stage::kBuild);
}

TEST(NothingIsBuiltWhileWhatIsBuiltHasNotRun) {
  TaskQueues queues({0, /*built=*/2, 0});
  for (int i = 0; i < 3; ++i) queues.Push(Stage::kBuild, NewTask(i));
  Stage from = Stage::kNone;
  queues.Push(Stage::kRun, queues.Take({Stage::kBuild}, &from));
  queues.Built();
  const TaskPtr second = queues.Take({Stage::kBuild}, &from);
  CHECK(!queues.HasRoomToRun());
  Taker third(&queues, {Stage::kBuild});
  CHECK(!third.IsDoneSoon());
  CHECK_EQ(Count(queues).queued_builds, 1);
  CHECK_EQ(Count(queues).queued_runs, 1);
  queues.Take({Stage::kRun}, &from);
  CHECK(third.IsDoneSoon());
  CHECK_EQ(third.seed.load(), 2);
  CHECK(Count(queues).stalled_s > 0);
}

TEST(NothingIsRunWhileWhatRanIsNotChecked) {
  TaskQueues queues({0, 0, /*ran=*/1});
  queues.Push(Stage::kRun, NewTask());
  queues.Push(Stage::kCheck, NewTask());
  Taker runner(&queues, {Stage::kRun});
  CHECK(!runner.IsDoneSoon());
  Stage from = Stage::kNone;
  queues.Take({Stage::kCheck}, &from);
  CHECK(runner.IsDoneSoon());
}

TEST(WhoSubmitsWaitsForRoomAndThatIsCounted) {
  using std::chrono::milliseconds;
  TaskQueues queues({/*submitted=*/1, 0, 0});
  CHECK(queues.AwaitRoom(milliseconds(0)));
  CHECK_EQ(Count(queues).blocked_s, 0.0);
  queues.Push(Stage::kLook, NewTask());
  CHECK(!queues.AwaitRoom(milliseconds(20)));
  CHECK(Count(queues).blocked_s >= 0.02);
  Stage from = Stage::kNone;
  queues.Take({Stage::kLook}, &from);
  CHECK(queues.AwaitRoom(milliseconds(0)));
}

TEST(StoppingFreesWhoWaits) {
  TaskQueues queues({});
  Taker taker(&queues, {Stage::kRun});
  CHECK(!taker.IsDoneSoon());
  queues.Stop();
  CHECK(taker.IsDoneSoon());
  CHECK_EQ(taker.seed.load(), -1);
}

int main() { return jaxkern::testing::RunTests(); }
