/// What a cache has stored, a line for each build, to tell why one is missing.
#ifndef JAXKERN_CORE_BUILD_LOG_H_
#define JAXKERN_CORE_BUILD_LOG_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace jaxkern {

/// A build: what decided it, as short hashes.
struct BuildRecord {
  std::string key;   ///< of the entry in the cache
  std::string text;  ///< of the source, as far as its meaning goes
  std::map<std::string, std::string> parts;  ///< compiler, flags, ...
};

/// A file that grows by whole lines and loses its older half when it is too
/// long. Any number of processes may share it.
class BuildLog {
 public:
  explicit BuildLog(std::string path) : path_(std::move(path)) {}

  void Append(const BuildRecord& record) const;

  /// The newest last; lines that are none of ours are left out.
  std::vector<BuildRecord> Read() const;

  /// Why there is no entry for `wanted`, in one line. `source_of` gives the
  /// source that the entry with a key was built from; nothing if there is no
  /// such entry any more.
  std::string Explain(
      const BuildRecord& wanted, const std::string& source,
      const std::function<std::optional<std::string>(const std::string& key)>&
          source_of) const;

 private:
  void Shorten() const;

  std::string path_;
};

}  // namespace jaxkern

#endif  // JAXKERN_CORE_BUILD_LOG_H_
