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

using Done = std::function<void(const Result&)>;

/// Who waits for a result: places in a batch, or a ticket, whose result goes to
/// `done` if there is one and else to Next.
struct Waiter {
  uint64_t ticket = 0;
  Done done;
  std::shared_ptr<Batch> batch;
  std::vector<size_t> places;
  bool abandoned = false;

  bool Waits() const { return batch ? !batch->abandoned : !abandoned; }
};

/// A task on its way and all who wait for its result.
struct Flight {
  TaskPtr task;
  std::vector<Waiter> waiters;
};

/// Equal requests for the same contents of a bundle have equal keys.
std::string Key(const Task& task) {
  return std::to_string(reinterpret_cast<uintptr_t>(task.problem.get())) + " " +
         std::to_string(task.request.repetitions) + " " +
         std::to_string(task.request.compile_timeout_s) + " " +
         std::to_string(task.request.run_timeout_s) + " " +
         std::to_string(task.request.flush) + " " +
         std::to_string(task.request.fresh_process) + " " +
         std::to_string(task.request.diagnose) + " " +
         std::to_string(task.request.rules) + " " +
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
  uint64_t Submit(const Request& request, Done done);
  std::vector<Done> Hand(const TaskPtr& task);

  const pid_t owner = getpid();
  ProblemStore problems{kProblemBytes};

  std::mutex mutex;
  std::condition_variable done;
  std::map<std::string, Flight> in_flight;  // by key
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
  pipeline.RequireRoom(*task->problem, request.repetitions);
  return task;
}

void Evaluator::Impl::Enqueue(TaskPtr task, Waiter waiter) {
  const std::lock_guard<std::mutex> lock(mutex);
  Flight& flight = in_flight[Key(*task)];
  flight.waiters.push_back(std::move(waiter));
  if (flight.task) return;
  flight.task = task;
  pipeline.Start(std::move(task));
}

/// A task that nobody waits for is forgotten at once, so that an equal request
/// starts anew instead of getting what became of this one.
bool Evaluator::Impl::Wanted(const TaskPtr& task) {
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found = in_flight.find(Key(*task));
  if (found == in_flight.end() || found->second.task != task) return false;
  const std::vector<Waiter>& waiters = found->second.waiters;
  const bool wanted =
      std::any_of(waiters.begin(), waiters.end(),
                  [](const Waiter& waiter) { return waiter.Waits(); });
  if (!wanted) in_flight.erase(found);
  return wanted;
}

/// Hands the result to batches and tickets; the functions still to be called.
std::vector<Done> Evaluator::Impl::Hand(const TaskPtr& task) {
  std::vector<Done> functions;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found = in_flight.find(Key(*task));
  if (found == in_flight.end() || found->second.task != task) return {};
  for (Waiter& waiter : found->second.waiters) {
    if (waiter.batch) {
      for (size_t place : waiter.places) {
        waiter.batch->results[place] = task->result;
      }
      waiter.batch->missing -= waiter.places.size();
    } else if (waiter.abandoned) {
      continue;
    } else if (waiter.done) {
      functions.push_back(std::move(waiter.done));
    } else {
      finished.emplace_back(waiter.ticket, task->result);
    }
  }
  in_flight.erase(found);
  return functions;
}

void Evaluator::Impl::Deliver(const TaskPtr& task) {
  const std::vector<Done> functions = Hand(task);
  done.notify_all();
  for (const Done& function : functions) function(task->result);
}

uint64_t Evaluator::Impl::Submit(const Request& request, Done function) {
  TaskPtr task = NewTask(request);
  while (!pipeline.AwaitRoom(kPollInterval)) {
  }
  Waiter waiter;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    waiter.ticket = ++last_ticket;
    if (!function) ++pending;
  }
  waiter.done = std::move(function);
  const uint64_t ticket = waiter.ticket;
  Enqueue(std::move(task), std::move(waiter));
  return ticket;
}

Evaluator::Evaluator(const Options& options)
    : impl_(std::make_unique<Impl>(options)) {}

Evaluator::~Evaluator() {
  // In a forked copy of the process there are no threads to stop, and the
  // children are not ours.
  if (impl_->owner != getpid()) {
    static_cast<void>(impl_.release());
    return;
  }
  // What the pipeline still delivers while it stops is no verdict.
  std::map<std::string, Flight> forgotten;
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  forgotten.swap(impl_->in_flight);
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
  try {
    for (auto* entry : ordered) {
      while (!impl_->pipeline.AwaitRoom(kPollInterval)) {
        if (poll) poll();
      }
      impl_->Enqueue(entry->first, entry->second);
    }
    std::unique_lock<std::mutex> lock(impl_->mutex);
    while (batch->missing > 0) {
      impl_->done.wait_for(lock, kPollInterval);
      if (!poll || batch->missing == 0) continue;
      lock.unlock();
      poll();
      lock.lock();
    }
  } catch (...) {
    const std::lock_guard<std::mutex> lock(impl_->mutex);
    batch->abandoned = true;
    throw;
  }
  return batch->results;
}

uint64_t Evaluator::Submit(const Request& request) {
  return impl_->Submit(request, nullptr);
}

uint64_t Evaluator::Submit(const Request& request,
                           std::function<void(const Result&)> done) {
  Require(static_cast<bool>(done), "done", "a function", "none");
  return impl_->Submit(request, std::move(done));
}

void Evaluator::Abandon(uint64_t ticket) {
  Done function;  // what it holds must not be freed under the lock
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  for (auto it = impl_->finished.begin(); it != impl_->finished.end(); ++it) {
    if (it->first != ticket) continue;
    impl_->finished.erase(it);
    --impl_->pending;
    break;
  }
  for (auto& [key, flight] : impl_->in_flight) {
    for (Waiter& waiter : flight.waiters) {
      if (waiter.batch || waiter.ticket != ticket || waiter.abandoned) continue;
      waiter.abandoned = true;
      if (!waiter.done) --impl_->pending;
      std::swap(function, waiter.done);
    }
  }
  impl_->done.notify_all();
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

Stats Evaluator::stats() const { return impl_->pipeline.stats(); }

}  // namespace jaxkern
