/// What an evaluator's machinery has been through: how often it failed, and
/// whether its device can still be used.
#ifndef JAXKERN_CORE_HEALTH_H_
#define JAXKERN_CORE_HEALTH_H_

#include <mutex>
#include <string>

#include "jaxkern/evaluator.h"

namespace jaxkern {

/// Shared by the threads of a pipeline.
class Health {
 public:
  void CountWorker() { Add(&Stats::workers_started); }
  void CountRejected() { Add(&Stats::rejected); }
  void CountRetry() { Add(&Stats::retries); }
  void CountResult(Status status) {
    Add(&Stats::results);
    if (status == Status::kInfraError) Add(&Stats::infra_errors);
  }

  /// For good; the first reason stays.
  void TakeOutOfService(const std::string& why) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (stats_.out_of_service.empty()) stats_.out_of_service = why;
  }

  Stats stats() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return stats_;
  }

 private:
  void Add(int64_t Stats::* counter) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++(stats_.*counter);
  }

  mutable std::mutex mutex_;
  Stats stats_;
};

}  // namespace jaxkern

#endif  // JAXKERN_CORE_HEALTH_H_
