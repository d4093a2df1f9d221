#include "core/baselines.h"

#include <algorithm>
#include <utility>

namespace jaxkern {
namespace {

// Headers of templates like CUB's take longer than most candidates.
constexpr double kLeastTimeout = 120;

}  // namespace

BuiltBaselines BaselineBuilder::Make(const Problem& problem, double timeout_s) {
  std::shared_ptr<Entry> entry;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::shared_ptr<Entry>& known = entries_[problem.hash];
    if (!known) known = std::make_shared<Entry>();
    entry = known;
  }
  const std::lock_guard<std::mutex> lock(entry->mutex);
  if (BuiltBaselines built = entry->built.lock()) return built;
  auto built = std::make_shared<std::vector<BuiltBaseline>>();
  for (const Baseline& baseline : problem.baselines) {
    built->push_back(MakeOne(problem, baseline,
                             std::max(timeout_s, kLeastTimeout), entry.get()));
  }
  entry->built = built;
  return built;
}

BuiltBaselines BaselineBuilder::Known(const Problem& problem) {
  std::shared_ptr<Entry> entry;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto known = entries_.find(problem.hash);
    if (known == entries_.end()) return nullptr;
    entry = known->second;
  }
  const std::unique_lock<std::mutex> lock(entry->mutex, std::try_to_lock);
  return lock ? entry->built.lock() : nullptr;
}

BuiltBaseline BaselineBuilder::MakeOne(const Problem& problem,
                                       const Baseline& baseline,
                                       double timeout_s, Entry* entry) {
  BuiltBaseline built;
  built.name = baseline.name;
  built.calls_libraries = !baseline.libraries.empty();
  Libraries libraries;
  if (built.calls_libraries) {
    libraries = builder_->toolchain().FindLibraries(baseline.libraries);
  }
  built.note = libraries.missing;
  if (!built.note.empty()) return built;
  const auto failed = entry->notes.find(baseline.name);
  if (failed != entry->notes.end()) built.note = failed->second;
  if (!built.note.empty()) return built;
  Build build = builder_->MakeBaseline(baseline, libraries, problem, timeout_s);
  built.library = std::move(build.library);
  built.needs = std::move(libraries.files);
  if (build.status == Status::kOk) return built;
  built.note = "does not build: " + build.log.substr(0, build.log.find('\n'));
  // Not all of these are in the cache; ours may pass.
  if (build.status != Status::kInfraError) {
    entry->notes[baseline.name] = built.note;
  }
  return built;
}

}  // namespace jaxkern
