/// How many compilers run at once: as many as allowed, and fewer where the
/// system has no processes for more (RLIMIT_NPROC, a container's pids limit).
#ifndef JAXKERN_CORE_COMPILER_SLOTS_H_
#define JAXKERN_CORE_COMPILER_SLOTS_H_

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace jaxkern {

class CompilerSlots {
 public:
  struct Counts {
    int running = 0;
    int limit = 0;        ///< at the moment
    int64_t starved = 0;  ///< compilers that the system had no process for
  };

  explicit CompilerSlots(int most) : most_(most), limit_(most) {}

  /// Waits until fewer than the limit run.
  void Acquire() {
    std::unique_lock<std::mutex> lock(mutex_);
    freed_.wait(lock, [this] { return running_ < limit_; });
    ++running_;
  }

  /// One has ended. If it was `starved`, from now on no more run than did
  /// beside it; each time that kPatience others have ended well, one more may.
  void Release(bool starved) {
    const std::lock_guard<std::mutex> lock(mutex_);
    --running_;
    if (starved) {
      ++starved_;
      limit_ = running_ < 1 ? 1 : running_ < limit_ ? running_ : limit_;
      well_ = 0;
    } else if (limit_ < most_ && ++well_ >= kPatience) {
      ++limit_;
      well_ = 0;
    }
    freed_.notify_all();
  }

  Counts counts() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return {running_, limit_, starved_};
  }

 private:
  static constexpr int kPatience = 8;

  const int most_;
  mutable std::mutex mutex_;
  std::condition_variable freed_;
  int limit_, running_ = 0, well_ = 0;
  int64_t starved_ = 0;
};

}  // namespace jaxkern

#endif  // JAXKERN_CORE_COMPILER_SLOTS_H_
