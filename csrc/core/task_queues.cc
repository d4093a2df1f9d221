#include "core/task_queues.h"

#include <algorithm>
#include <utility>

#include "core/pipeline.h"

namespace jaxkern {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

bool IsBelow(size_t count, size_t bound) { return bound == 0 || count < bound; }

}  // namespace

void TaskQueues::Push(Stage stage, TaskPtr task) {
  const std::lock_guard<std::mutex> lock(mutex_);
  task->queued = Clock::now();
  Of(stage).push_back(std::move(task));
  changed_.notify_all();
}

/// Whether tasks of a stage may be taken, as far as the next one is concerned.
bool TaskQueues::MayGoOn(Stage stage) const {
  if (stage == Stage::kBuild) {
    return IsBelow(Size(Stage::kRun) + building_, bounds_.built);
  }
  return stage != Stage::kRun || IsBelow(Size(Stage::kCheck), bounds_.ran);
}

TaskPtr TaskQueues::Take(std::initializer_list<Stage> stages, Stage* from) {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopped_) {
    bool stalled = false;
    for (const Stage stage : stages) {
      if (Size(stage) == 0) continue;
      if (!MayGoOn(stage)) {
        stalled = stalled || stage == Stage::kBuild;
        continue;
      }
      TaskPtr task = std::move(Of(stage).front());
      Of(stage).pop_front();
      if (stage == Stage::kBuild) ++building_;
      *from = stage;
      changed_.notify_all();  // there is room now
      return task;
    }
    const auto start = Clock::now();
    changed_.wait(lock);
    if (stalled) stalled_s_ += SecondsSince(start);
  }
  return nullptr;
}

void TaskQueues::Built() {
  const std::lock_guard<std::mutex> lock(mutex_);
  --building_;
  changed_.notify_all();
}

bool TaskQueues::HasRoomToRun() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return MayGoOn(Stage::kBuild);
}

bool TaskQueues::HasRoom() const {
  return IsBelow(Size(Stage::kLook) + Size(Stage::kBuild), bounds_.submitted);
}

bool TaskQueues::AwaitRoom(std::chrono::milliseconds most) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (HasRoom()) return true;
  const auto start = Clock::now();
  const bool room =
      changed_.wait_for(lock, most, [this] { return stopped_ || HasRoom(); });
  blocked_s_ += SecondsSince(start);
  return room;
}

void TaskQueues::Stop() {
  const std::lock_guard<std::mutex> lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

void TaskQueues::Count(Stats* stats) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto size = [this](Stage stage) {
    return static_cast<int64_t>(Size(stage));
  };
  stats->queued_builds = size(Stage::kLook) + size(Stage::kBuild);
  stats->queued_runs = size(Stage::kRun);
  stats->queued_checks = size(Stage::kCheck);
  stats->blocked_s = blocked_s_;
  stats->stalled_s = stalled_s_;
}

}  // namespace jaxkern
