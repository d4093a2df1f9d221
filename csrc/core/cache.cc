#include "core/cache.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "core/sha256.h"

namespace jaxkern {
namespace fs = std::filesystem;
namespace {

constexpr size_t kDigest = 64;  // a file is its digest, then the value
constexpr char kTemporary[] = ".new";
constexpr auto kStale = std::chrono::hours(1);

std::optional<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream contents;
  if (!file || !(contents << file.rdbuf())) return std::nullopt;
  return contents.str();
}

bool WriteFile(const std::string& path, const std::string& contents) {
  std::ofstream file(path, std::ios::binary);
  file.write(contents.data(), static_cast<std::streamsize>(contents.size()));
  file.close();
  return !file.fail();
}

struct Entry {
  fs::file_time_type used;
  int64_t bytes;
  fs::path path;
};

/// All entries; temporary files that a killed writer left are removed.
std::vector<Entry> List(const std::string& directory) {
  std::vector<Entry> entries;
  std::error_code error;
  const auto now = fs::file_time_type::clock::now();
  for (auto it = fs::recursive_directory_iterator(directory, error);
       !error && it != fs::recursive_directory_iterator();
       it.increment(error)) {
    std::error_code gone;  // another process may evict too
    if (!it->is_regular_file(gone)) continue;
    const Entry entry{it->last_write_time(gone),
                      static_cast<int64_t>(it->file_size(gone)), it->path()};
    if (gone) continue;
    if (entry.path.extension() != kTemporary) {
      entries.push_back(entry);
    } else if (now - entry.used > kStale) {
      fs::remove(entry.path, gone);
    }
  }
  return entries;
}

}  // namespace

Cache::Cache(const std::string& directory, int64_t max_bytes)
    : directory_(directory + "/builds"), max_bytes_(max_bytes) {
  std::error_code error;
  fs::create_directories(directory_, error);
  if (!error && access(directory_.c_str(), W_OK | X_OK) != 0) {
    error = std::error_code(errno, std::generic_category());
  }
  if (error) {
    throw std::invalid_argument(
        "cache_dir: expected a writable directory, got " + directory_ + ": " +
        error.message());
  }
  Evict();
}

std::string Cache::Path(const std::string& key) const {
  return directory_ + "/" + key.substr(0, 2) + "/" + key.substr(2);
}

std::optional<std::string> Cache::Get(const std::string& key) {
  const std::optional<std::string> contents = ReadFile(Path(key));
  if (!contents || contents->size() < kDigest) return std::nullopt;
  std::string value = contents->substr(kDigest);
  if (contents->compare(0, kDigest, Sha256(key + value)) != 0) {
    return std::nullopt;
  }
  std::error_code ignored;
  fs::last_write_time(Path(key), fs::file_time_type::clock::now(), ignored);
  return value;
}

void Cache::Put(const std::string& key, const std::string& value) {
  static std::atomic<uint64_t> count{0};
  const std::string path = Path(key);
  const std::string temporary = directory_ + "/" + std::to_string(getpid()) +
                                "-" + std::to_string(count++) + kTemporary;
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  const bool written = WriteFile(temporary, Sha256(key + value) + value);
  if (written) fs::rename(temporary, path, error);
  if (!written || error) fs::remove(temporary, error);
  written_ += static_cast<int64_t>(kDigest + value.size());
  if (written_ > max_bytes_ / 16) Evict();
}

void Cache::Evict() {
  written_ = 0;
  std::vector<Entry> entries = List(directory_);
  int64_t total = 0;
  for (const Entry& entry : entries) total += entry.bytes;
  if (total <= max_bytes_) return;
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& entry : entries) {
    if (total <= max_bytes_) break;
    std::error_code ignored;
    fs::remove(entry.path, ignored);
    total -= entry.bytes;
  }
}

std::string CacheDirectory(const std::string& chosen) {
  if (!chosen.empty()) return chosen;
  for (const auto& [variable, suffix] :
       {std::pair{"JAXKERN_CACHE", ""}, std::pair{"XDG_CACHE_HOME", "/jaxkern"},
        std::pair{"HOME", "/.cache/jaxkern"}}) {
    const char* value = std::getenv(variable);
    if (value != nullptr && *value != '\0') return std::string(value) + suffix;
  }
  throw std::invalid_argument(
      "cache_dir: expected a directory, got none, and neither JAXKERN_CACHE "
      "nor HOME is set");
}

}  // namespace jaxkern
