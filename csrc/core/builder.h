/// Candidates to shared objects: prepare, look in the cache, compile.
#ifndef JAXKERN_CORE_BUILDER_H_
#define JAXKERN_CORE_BUILDER_H_

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "backends/toolchain.h"
#include "core/build.h"
#include "core/build_store.h"
#include "core/cache.h"
#include "core/compiler_slots.h"
#include "core/problem.h"
#include "core/subprocess.h"
#include "jaxkern/evaluator.h"

namespace jaxkern {

/// Thread safe; as many compilers run as threads call Make, and no more than
/// `compilers`.
class Builder {
 public:
  /// How often builds were found. A joined one had been begun by another
  /// thread or process; it is a hit, too, if that was of use.
  struct Counts {
    int64_t hits = 0, misses = 0, joined = 0;
  };

  /// `scratch` is where compilers work, `guard` hears of them, and `cancel`
  /// becomes readable when all must stop.
  Builder(std::unique_ptr<Toolchain> toolchain, Cache* cache,
          std::string scratch, int guard, int cancel, int compilers = 1024);

  /// From now on builds say why they were not in the cache.
  void ExplainMisses() { explains_ = true; }

  /// What needs no compiler: a build in the cache, and what is no kernel or
  /// not supported.
  std::optional<Build> Find(const std::string& source, const Problem& problem);

  /// Equal texts in several threads and processes are compiled once. In either
  /// form.
  Build Make(const std::string& source, const Problem& problem,
             double timeout_s);

  /// A problem's baseline, to which the rules for candidates do not apply.
  /// `libraries` are those that it names.
  Build MakeBaseline(const Baseline& baseline, const Libraries& libraries,
                     const Problem& problem, double timeout_s);

  const Toolchain& toolchain() const { return *toolchain_; }
  Counts counts() const { return {hits_, misses_, joined_}; }
  CompilerSlots::Counts compilers() const { return slots_.counts(); }

  /// Whether compilers see no files but the system's and their own, so that a
  /// candidate can include nothing else. Tried once, with an empty text.
  bool sandboxed() const { return sandboxed_; }

 private:
  /// What is compiled, and the flags that it needs besides the toolchain's.
  struct Unit {
    std::string source;  // the candidate's own
    std::string text;
    std::vector<std::string> flags;
  };

  /// A build under way in this process.
  struct Flight {
    double timeout_s = 0;
    bool done = false;
    Status status = Status::kInfraError;
    std::string log;
  };

  class Place;  // the Workshop of one build

  bool CanBeSandboxed();
  Ended RunCompilers(const Place& place, const Unit& unit, Build* build) const;
  /// Fills in by which road, and the seconds.
  Ended RunInSlot(const std::string& directory, const Unit& unit,
                  double timeout_s, Build* build);
  /// The unit; none if the build is known by the text alone, *build then.
  std::optional<Unit> Prepare(const std::string& source,
                              const std::string& entry,
                              const std::vector<std::string>& flags,
                              Build* build) const;
  /// The same of a candidate, in either form.
  std::optional<Unit> PrepareCandidate(const std::string& source,
                                       const Problem& problem,
                                       Build* build) const;
  std::shared_ptr<Flight> Board(const std::string& name, double timeout_s,
                                bool* joined, Build* build);
  void Leave(const std::string& name, Flight* flight, const Build& build);
  Build MakeOnce(const Unit& unit, double timeout_s);
  Build MakeAlone(const BuildKey& key, const Unit& unit, double timeout_s,
                  bool joined);
  Build Compile(const BuildKey& key, const Unit& unit, double timeout_s);
  Build Judge(const Ended& ended, const std::string& directory,
              double timeout_s) const;

  std::unique_ptr<Toolchain> toolchain_;
  BuildStore store_;
  CompilerSlots slots_;
  const std::string scratch_;
  const int guard_;
  const int cancel_;
  bool sandboxed_ = false;
  bool explains_ = false;
  std::atomic<int64_t> hits_{0}, misses_{0}, joined_{0};

  std::mutex mutex_;
  std::condition_variable finished_;
  std::map<std::string, std::shared_ptr<Flight>> in_flight_;  // by key
};

}  // namespace jaxkern

#endif  // JAXKERN_CORE_BUILDER_H_
