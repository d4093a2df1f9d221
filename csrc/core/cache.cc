#include "core/cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
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

#include "core/fd.h"
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

bool WriteAll(int file, const std::string& contents) {
  for (size_t done = 0; done < contents.size();) {
    const ssize_t n =
        write(file, contents.data() + done, contents.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

/// A new file that nobody takes for a dead writer's: it is locked, and the lock
/// dies with us. Where the file system has no locks, age decides.
Fd Create(const std::string& path) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    Fd file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    struct stat now = {};
    if (!file || flock(file.get(), LOCK_EX) != 0 ||
        fstat(file.get(), &now) != 0 || now.st_nlink > 0) {
      return file;
    }
    // Somebody saw it before it was locked.
  }
  return Fd();
}

/// Writes a value under a temporary name and gives it its own.
bool Publish(const std::string& temporary, const std::string& path,
             const std::string& contents) {
  const Fd file = Create(temporary);
  if (!file) return false;
  if (WriteAll(file.get(), contents) &&
      rename(temporary.c_str(), path.c_str()) == 0) {
    return true;
  }
  unlink(temporary.c_str());
  return false;
}

/// Removes a temporary file whose writer has died.
void RemoveAbandoned(const std::string& temporary, bool old) {
  const Fd file(open(temporary.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return;
  const bool dead = flock(file.get(), LOCK_EX | LOCK_NB) == 0;
  if (dead || (errno != EWOULDBLOCK && old)) unlink(temporary.c_str());
}

struct Entry {
  fs::file_time_type used;
  int64_t bytes;
  fs::path path;
};

/// All entries; temporary files that killed writers left are removed.
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
    } else {
      RemoveAbandoned(entry.path, now - entry.used > kStale);
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

std::optional<std::string> Cache::Get(const std::string& key, bool use) {
  const std::optional<std::string> contents = ReadFile(Path(key));
  if (!contents || contents->size() < kDigest) return std::nullopt;
  std::string value = contents->substr(kDigest);
  if (contents->compare(0, kDigest, Sha256(key + value)) != 0) {
    return std::nullopt;
  }
  if (!use) return value;
  std::error_code ignored;
  fs::last_write_time(Path(key), fs::file_time_type::clock::now(), ignored);
  return value;
}

bool Cache::Put(const std::string& key, const std::string& value) {
  static std::atomic<uint64_t> count{0};
  const std::string path = Path(key);
  const std::string temporary = directory_ + "/" + std::to_string(getpid()) +
                                "-" + std::to_string(count++) + "-" +
                                key.substr(0, 8) + kTemporary;
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  const bool stored = Publish(temporary, path, Sha256(key + value) + value);
  if (stored) written_ += static_cast<int64_t>(kDigest + value.size());
  if (written_ > max_bytes_ / 16) Evict();
  return stored;
}

/// One process at a time, so that several do not each remove what is too much.
void Cache::Evict() {
  const Fd lock(open(Beside("evict").c_str(),
                     O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (lock && flock(lock.get(), LOCK_EX | LOCK_NB) != 0 &&
      errno == EWOULDBLOCK) {
    bytes_ += written_.exchange(0);
    return;
  }
  written_ = 0;
  std::vector<Entry> entries = List(directory_);
  int64_t total = 0;
  for (const Entry& entry : entries) total += entry.bytes;
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& entry : entries) {
    if (total <= max_bytes_) break;
    std::error_code gone;
    if (fs::remove(entry.path, gone)) ++evicted_;
    total -= entry.bytes;
  }
  bytes_ = total;
  if (lock) flock(lock.get(), LOCK_UN);  // a fork may have copies of it
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
