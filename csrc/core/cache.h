/// A content-addressed store of build results on disk.
///
/// One file per key, published by rename, so that any number of processes may
/// share a directory and may be killed at any time. A file that is torn or
/// changed fails its checksum and counts as absent; what a killed writer leaves
/// is told by its lock, which died with it, and removed.
#ifndef JAXKERN_CORE_CACHE_H_
#define JAXKERN_CORE_CACHE_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

namespace jaxkern {

class Cache {
 public:
  struct Counts {
    int64_t bytes = 0;    ///< on disk, when last looked at, and written since
    int64_t evicted = 0;  ///< entries, by this object
  };

  /// Throws std::invalid_argument when `directory` cannot be made or written.
  Cache(const std::string& directory, int64_t max_bytes);

  /// The value stored under `key` (hexadecimal digits); marks it as used, if
  /// it is `use`d.
  std::optional<std::string> Get(const std::string& key, bool use = true);

  /// Stores a value. A full disk is no error: the value is built again. False
  /// if it was not stored.
  bool Put(const std::string& key, const std::string& value);

  const std::string& directory() const { return directory_; }

  /// Files of this name beside the entries are not counted or removed.
  std::string Beside(const std::string& name) const {
    return directory_ + "." + name;
  }

  Counts counts() const { return {bytes_ + written_, evicted_}; }

 private:
  std::string Path(const std::string& key) const;
  void Evict();

  std::string directory_;
  int64_t max_bytes_;
  std::atomic<int64_t> bytes_{0};    // at the last look at the whole
  std::atomic<int64_t> written_{0};  // since
  std::atomic<int64_t> evicted_{0};
};

/// `chosen`, or $JAXKERN_CACHE, or $XDG_CACHE_HOME/jaxkern, or
/// ~/.cache/jaxkern.
std::string CacheDirectory(const std::string& chosen);

}  // namespace jaxkern

#endif  // JAXKERN_CORE_CACHE_H_
