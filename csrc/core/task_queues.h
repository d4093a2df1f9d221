/// Tasks between the stages of a pipeline, with bounds: what one stage cannot
/// take yet keeps those before it from going on, back to who submits.
#ifndef JAXKERN_CORE_TASK_QUEUES_H_
#define JAXKERN_CORE_TASK_QUEUES_H_

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <initializer_list>
#include <memory>
#include <mutex>

#include "jaxkern/evaluator.h"

namespace jaxkern {

struct Task;
using TaskPtr = std::shared_ptr<Task>;

enum class Stage { kLook, kBuild, kRun, kCheck, kDiagnose, kExamine, kNone };

class TaskQueues {
 public:
  /// How many may wait; 0: any number.
  struct Bounds {
    size_t submitted = 0;  ///< not built yet
    size_t built = 0;      ///< not run yet: each holds a descriptor
    size_t ran = 0;        ///< not checked yet: each holds its outputs
  };

  explicit TaskQueues(const Bounds& bounds) : bounds_(bounds) {}

  /// Never waits.
  void Push(Stage stage, TaskPtr task);

  /// The next task of the first of these stages that has one and may go on;
  /// waits for it. Null once stopped. A task that was taken to be built counts
  /// as built until Built.
  TaskPtr Take(std::initializer_list<Stage> stages, Stage* from);

  /// What was taken to be built has been pushed elsewhere or is done.
  void Built();

  /// Whether what is built could wait for its run.
  bool HasRoomToRun() const;

  /// Waits until another task may be submitted, for at most this long; whether
  /// it may. Pushing without asking does no harm but to memory.
  bool AwaitRoom(std::chrono::milliseconds most);

  void Stop();

  /// The figures of the queues.
  void Count(Stats* stats) const;

 private:
  std::deque<TaskPtr>& Of(Stage stage) {
    return queues_[static_cast<size_t>(stage)];
  }
  size_t Size(Stage stage) const {
    return queues_[static_cast<size_t>(stage)].size();
  }
  bool MayGoOn(Stage stage) const;
  bool HasRoom() const;

  const Bounds bounds_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::array<std::deque<TaskPtr>, static_cast<size_t>(Stage::kNone)> queues_;
  size_t building_ = 0;
  bool stopped_ = false;
  double blocked_s_ = 0, stalled_s_ = 0;
};

}  // namespace jaxkern

#endif  // JAXKERN_CORE_TASK_QUEUES_H_
