/// Candidates to shared objects: prepare, look in the cache, compile.
#ifndef JAXKERN_CORE_BUILDER_H_
#define JAXKERN_CORE_BUILDER_H_

#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "backends/toolchain.h"
#include "core/cache.h"
#include "core/fd.h"
#include "core/problem.h"
#include "core/subprocess.h"
#include "jaxkern/evaluator.h"

namespace jaxkern {

/// What became of a source. Only kOk has a library.
struct Build {
  Status status = Status::kInfraError;
  std::string stage = "compile";
  std::string log;
  Resources resources;
  Fd library;                     ///< sealed memory holding the shared object
  std::string road, road_reason;  ///< as in Result
  double compile_s = 0;
  bool cache_hit = false;
};

/// Thread safe; as many compilers run as threads call Make.
class Builder {
 public:
  /// `scratch` is where compilers work, `guard` hears of them, and `cancel`
  /// becomes readable when all must stop.
  Builder(std::unique_ptr<Toolchain> toolchain, Cache* cache,
          std::string scratch, int guard, int cancel);

  /// Equal texts in several threads are compiled once.
  Build Make(const std::string& source, const Problem& problem,
             double timeout_s);

  /// A problem's baseline, to which the rules for candidates do not apply.
  /// `libraries` are those that it names.
  Build MakeBaseline(const Baseline& baseline, const Libraries& libraries,
                     const Problem& problem, double timeout_s);

  const Toolchain& toolchain() const { return *toolchain_; }

  /// Whether compilers see no files but the system's and their own, so that a
  /// candidate can include nothing else. Tried once, with an empty text.
  bool sandboxed() const { return sandboxed_; }

 private:
  /// What is compiled, and the flags that it needs besides the toolchain's.
  struct Unit {
    std::string text;
    std::vector<std::string> flags;
  };

  class Place;  // the Workshop of one build

  bool CanBeSandboxed();
  Ended RunCompilers(const Place& place, const Unit& unit, Build* build) const;
  Build Prepare(const std::string& source, const Problem& problem,
                const std::vector<std::string>& flags, double timeout_s);
  Build MakeOnce(const std::string& key, const Unit& unit, double timeout_s);
  Build Compile(const std::string& key, const Unit& unit, double timeout_s);
  Build Judge(const Ended& ended, const std::string& directory,
              double timeout_s) const;

  std::unique_ptr<Toolchain> toolchain_;
  const std::string fingerprint_;
  Cache* cache_;
  const std::string scratch_;
  const int guard_;
  const int cancel_;
  bool sandboxed_ = false;

  std::mutex mutex_;
  std::condition_variable finished_;
  std::set<std::string> in_flight_;  // keys
};

}  // namespace jaxkern

#endif  // JAXKERN_CORE_BUILDER_H_
