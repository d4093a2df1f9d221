/// Builds by what decides them, in a cache on disk.
#ifndef JAXKERN_CORE_BUILD_STORE_H_
#define JAXKERN_CORE_BUILD_STORE_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backends/toolchain.h"
#include "core/build.h"
#include "core/build_log.h"
#include "core/cache.h"

namespace jaxkern {

/// Where a build is looked up.
struct BuildKey {
  std::string exact;  ///< of the text as it is
  /// Of its meaning (Normalise); "" where that says too little. Builds that
  /// succeeded are stored here: what compilers say of others has line numbers.
  std::string form;
  BuildRecord record;

  const std::string& Name() const { return form.empty() ? exact : form; }
};

class BuildStore {
 public:
  /// `sandboxed`: see Builder; what could be included decides, too.
  BuildStore(Cache* cache, const Toolchain& toolchain);

  /// Of a prepared text and the flags that it needs beside the toolchain's.
  BuildKey KeyOf(const std::string& text, const std::vector<std::string>& flags,
                 bool sandboxed) const;

  std::optional<Build> Find(const BuildKey& key);

  /// Stores what the same text will always become, and gives it back as Find
  /// would. `source` is the candidate's own text.
  Build Store(const BuildKey& key, const std::string& source,
              const Build& build, const std::string& library);

  /// Why Find has nothing, in one line.
  std::string WhyMissing(const BuildKey& key, const std::string& source);

  Cache* cache() { return cache_; }

 private:
  Cache* cache_;
  const std::string fingerprint_;
  const bool keeps_lines_;
  std::map<std::string, std::string> parts_;  // hashes, by name
  BuildLog log_;
};

/// What the same text and compiler will always yield.
bool IsFinal(Status status);

}  // namespace jaxkern

#endif  // JAXKERN_CORE_BUILD_STORE_H_
