#include "jaxkern/evaluator.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/pipeline.h"
#include "core/problem_store.h"

namespace jaxkern {
namespace {

constexpr int kMaxRepetitions = 1000;
constexpr double kMaxTimeout = 86400;
constexpr size_t kProblemBytes = size_t{2} << 30;
constexpr auto kPollInterval = std::chrono::milliseconds(100);

void Require(bool holds, const std::string& argument,
             const std::string& expected, const std::string& got) {
  if (holds) return;
  throw std::invalid_argument(argument + ": expected " + expected + ", got " +
                              got);
}

void RequireTimeout(const std::string& argument, double value) {
  Require(value > 0 && value <= kMaxTimeout, argument,
          "seconds above 0 and up to 86400", std::to_string(value));
}

/// The results of one call of Evaluate; guarded by Impl::mutex.
struct Batch {
  std::vector<Result> results;
  size_t missing = 0;
  bool abandoned = false;
};

/// Who waits for a result: a ticket, or places in a batch.
struct Waiter {
  uint64_t ticket = 0;
  std::shared_ptr<Batch> batch;
  std::vector<size_t> places;
};

/// Equal requests for the same contents of a bundle have equal keys.
std::string Key(const Task& task) {
  return std::to_string(reinterpret_cast<uintptr_t>(task.problem.get())) + " " +
         std::to_string(task.request.repetitions) + " " +
         std::to_string(task.request.compile_timeout_s) + " " +
         std::to_string(task.request.run_timeout_s) + " " +
         std::to_string(task.request.flush) + " " +
         std::to_string(task.request.seed) + "\n" + task.request.source;
}

}  // namespace

struct Evaluator::Impl {
  explicit Impl(const Options& options)
      : pipeline(
            options, [this](const TaskPtr& task) { return Wanted(task); },
            [this](const TaskPtr& task) { Deliver(task); }) {}

  TaskPtr NewTask(const Request& request);
  void Enqueue(TaskPtr task, Waiter waiter);
  bool Wanted(const TaskPtr& task);
  void Deliver(const TaskPtr& task);

  const pid_t owner = getpid();
  ProblemStore problems{kProblemBytes};

  std::mutex mutex;
  std::condition_variable done;
  std::map<std::string, std::vector<Waiter>> in_flight;  // by key
  std::deque<std::pair<uint64_t, Result>> finished;
  uint64_t last_ticket = 0;
  size_t pending = 0;  // tickets not yet taken by Next

  Pipeline pipeline;  // last: its threads use all of the above
};

TaskPtr Evaluator::Impl::NewTask(const Request& request) {
  Require(!request.problem.empty(), "problem", "the directory of a bundle",
          "an empty string");
  Require(request.repetitions >= 0 && request.repetitions <= kMaxRepetitions,
          "repetitions", "0 to 1000", std::to_string(request.repetitions));
  RequireTimeout("compile_timeout_s", request.compile_timeout_s);
  RequireTimeout("run_timeout_s", request.run_timeout_s);
  auto task = std::make_shared<Task>();
  task->request = request;
  task->problem = problems.Get(request.problem);
  return task;
}

void Evaluator::Impl::Enqueue(TaskPtr task, Waiter waiter) {
  const std::lock_guard<std::mutex> lock(mutex);
  std::vector<Waiter>& waiters = in_flight[Key(*task)];
  waiters.push_back(std::move(waiter));
  if (waiters.size() == 1) pipeline.Start(std::move(task));
}

bool Evaluator::Impl::Wanted(const TaskPtr& task) {
  const std::lock_guard<std::mutex> lock(mutex);
  const std::vector<Waiter>& waiters = in_flight[Key(*task)];
  return std::any_of(waiters.begin(), waiters.end(), [](const Waiter& waiter) {
    return !waiter.batch || !waiter.batch->abandoned;
  });
}

void Evaluator::Impl::Deliver(const TaskPtr& task) {
  const std::lock_guard<std::mutex> lock(mutex);
  const auto waiters = in_flight.extract(Key(*task)).mapped();
  for (const Waiter& waiter : waiters) {
    if (waiter.batch) {
      for (size_t place : waiter.places) {
        waiter.batch->results[place] = task->result;
      }
      waiter.batch->missing -= waiter.places.size();
    } else {
      finished.emplace_back(waiter.ticket, task->result);
    }
  }
  done.notify_all();
}

Evaluator::Evaluator(const Options& options)
    : impl_(std::make_unique<Impl>(options)) {}

Evaluator::~Evaluator() {
  // In a forked copy of the process there are no threads to stop, and the
  // children are not ours.
  if (impl_->owner != getpid()) static_cast<void>(impl_.release());
}

std::vector<Result> Evaluator::Evaluate(const std::vector<Request>& requests,
                                        const std::function<void()>& poll) {
  auto batch = std::make_shared<Batch>();
  batch->results.resize(requests.size());
  batch->missing = requests.size();
  std::map<std::string, std::pair<TaskPtr, Waiter>> distinct;
  std::vector<std::pair<TaskPtr, Waiter>*> ordered;
  for (size_t i = 0; i < requests.size(); ++i) {
    TaskPtr task = impl_->NewTask(requests[i]);
    auto& entry = distinct[Key(*task)];
    if (!entry.first) {
      entry.first = std::move(task);
      entry.second.batch = batch;
      ordered.push_back(&entry);
    }
    entry.second.places.push_back(i);
  }
  for (auto* entry : ordered) impl_->Enqueue(entry->first, entry->second);

  std::unique_lock<std::mutex> lock(impl_->mutex);
  while (batch->missing > 0) {
    impl_->done.wait_for(lock, kPollInterval);
    if (!poll || batch->missing == 0) continue;
    lock.unlock();
    try {
      poll();
    } catch (...) {
      lock.lock();
      batch->abandoned = true;
      throw;
    }
    lock.lock();
  }
  return batch->results;
}

uint64_t Evaluator::Submit(const Request& request) {
  TaskPtr task = impl_->NewTask(request);
  Waiter waiter;
  {
    const std::lock_guard<std::mutex> lock(impl_->mutex);
    waiter.ticket = ++impl_->last_ticket;
    ++impl_->pending;
  }
  const uint64_t ticket = waiter.ticket;
  impl_->Enqueue(std::move(task), std::move(waiter));
  return ticket;
}

std::optional<std::pair<uint64_t, Result>> Evaluator::Next(double timeout_s) {
  std::unique_lock<std::mutex> lock(impl_->mutex);
  const auto ready = [this] {
    return !impl_->finished.empty() || impl_->pending == 0;
  };
  if (timeout_s < 0) {
    impl_->done.wait(lock, ready);
  } else {
    impl_->done.wait_for(
        lock, std::chrono::duration<double>(std::min(timeout_s, kMaxTimeout)),
        ready);
  }
  if (impl_->finished.empty()) return std::nullopt;
  auto next = std::move(impl_->finished.front());
  impl_->finished.pop_front();
  --impl_->pending;
  return next;
}

size_t Evaluator::Pending() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  return impl_->pending;
}

std::string Evaluator::Describe() const { return impl_->pipeline.Describe(); }

}  // namespace jaxkern
