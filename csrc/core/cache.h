/// A content-addressed store of build results on disk.
///
/// One file per key, published by rename, so that any number of processes may
/// share a directory and may be killed at any time. A file that is torn or
/// changed fails its checksum and counts as absent.
#ifndef JAXKERN_CORE_CACHE_H_
#define JAXKERN_CORE_CACHE_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

namespace jaxkern {

class Cache {
 public:
  /// Throws std::invalid_argument when `directory` cannot be made or written.
  Cache(const std::string& directory, int64_t max_bytes);

  /// The value stored under `key` (hexadecimal digits); marks it as used.
  std::optional<std::string> Get(const std::string& key);

  /// Stores a value. A full disk is no error: the value is built again.
  void Put(const std::string& key, const std::string& value);

  const std::string& directory() const { return directory_; }

 private:
  std::string Path(const std::string& key) const;
  void Evict();

  std::string directory_;
  int64_t max_bytes_;
  std::atomic<int64_t> written_{0};  // since the last look at the whole
};

/// `chosen`, or $JAXKERN_CACHE, or $XDG_CACHE_HOME/jaxkern, or
/// ~/.cache/jaxkern.
std::string CacheDirectory(const std::string& chosen);

}  // namespace jaxkern

#endif  // JAXKERN_CORE_CACHE_H_
