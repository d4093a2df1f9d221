#include "core/cache.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "check.h"

namespace fs = std::filesystem;
using jaxkern::Cache;
using jaxkern::testing::TemporaryDirectory;

namespace {

const std::string kKey = "ab0123";

std::string OnlyFile(const std::string& directory) {
  std::string found;
  for (const auto& entry :
       fs::recursive_directory_iterator(directory + "/builds")) {
    if (entry.is_regular_file()) found = entry.path();
  }
  return found;
}

}  // namespace

TEST(WhatIsPutIsFoundByAnotherCacheOfTheDirectory) {
  const TemporaryDirectory directory;
  Cache(directory.path(), 1000).Put(kKey, std::string("a\0b", 3));
  Cache other(directory.path(), 1000);
  CHECK(other.Get(kKey) == std::string("a\0b", 3));
  CHECK(!other.Get("ab9999"));
}

TEST(ACorruptEntryIsAMiss) {
  const TemporaryDirectory directory;
  Cache cache(directory.path(), 1000);
  cache.Put(kKey, "value");
  std::fstream file(OnlyFile(directory.path()),
                    std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-1, std::ios::end);
  file.put('E');
  file.close();
  CHECK(!cache.Get(kKey));
  cache.Put(kKey, "value");
  CHECK(cache.Get(kKey) == std::string("value"));
}

TEST(ATruncatedEntryIsAMiss) {
  const TemporaryDirectory directory;
  Cache cache(directory.path(), 1000);
  cache.Put(kKey, "value");
  fs::resize_file(OnlyFile(directory.path()), 10);
  CHECK(!cache.Get(kKey));
}

TEST(TheLeastRecentlyUsedGoFirst) {
  const TemporaryDirectory directory;
  // Each entry takes 64 + 36 bytes; three fit.
  Cache cache(directory.path(), 350);
  const std::string value(36, 'v');
  for (const char* key : {"aa1", "bb2", "cc3"}) {
    cache.Put(key, value);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  CHECK(cache.Get("aa1").has_value());
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  cache.Put("dd4", value);
  CHECK(cache.Get("aa1").has_value());
  CHECK(!cache.Get("bb2"));
  CHECK(cache.Get("cc3").has_value());
  CHECK(cache.Get("dd4").has_value());
}

TEST(ADeadWritersFileIsRemovedAndALivingOnesIsNot) {
  const TemporaryDirectory directory;
  fs::create_directories(directory.path() + "/builds");
  const std::string dead = directory.Write("builds/1-1.new", "torn");
  const std::string alive = directory.Write("builds/1-2.new", "torn");
  const int file = open(alive.c_str(), O_RDONLY);
  CHECK_EQ(flock(file, LOCK_EX), 0);
  Cache(directory.path(), 1000);
  CHECK(!fs::exists(dead));
  CHECK(fs::exists(alive));
  close(file);
}

TEST(WhatIsOnDiskAndWhatHadToGoIsCounted) {
  const TemporaryDirectory directory;
  Cache cache(directory.path(), 350);
  for (const char* key : {"aa1", "bb2"}) cache.Put(key, std::string(36, 'v'));
  CHECK_EQ(cache.counts().bytes, 200);
  CHECK_EQ(cache.counts().evicted, 0);
  for (const char* key : {"cc3", "dd4"}) cache.Put(key, std::string(36, 'v'));
  CHECK_EQ(cache.counts().bytes, 300);
  CHECK_EQ(cache.counts().evicted, 1);
}

TEST(LookingWithoutUseDoesNotKeepAnEntry) {
  const TemporaryDirectory directory;
  Cache cache(directory.path(), 250);
  const std::string value(36, 'v');
  for (const char* key : {"aa1", "bb2"}) {
    cache.Put(key, value);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  CHECK(cache.Get("aa1", /*use=*/false).has_value());
  cache.Put("cc3", value);
  CHECK(!cache.Get("aa1"));
  CHECK(cache.Get("bb2").has_value());
}

TEST(AnUnusableDirectoryIsRefused) {
  const TemporaryDirectory directory;
  const std::string file = directory.Write("file", "");
  CHECK_THROWS(Cache(file, 1000), std::invalid_argument,
               "cache_dir: expected a writable directory, got " + file);
}

TEST(ProcessesMayShareADirectory) {
  const TemporaryDirectory directory;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&directory] {
      Cache cache(directory.path(), 1 << 20);
      for (int i = 0; i < 50; ++i) {
        const std::string key = "ee" + std::to_string(i);
        cache.Put(key, "value of " + key);
        const auto value = cache.Get(key);
        CHECK(value == "value of " + key);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// Stores and reads until it is killed; ends early if a value is not its own.
[[noreturn]] void Churn(const std::string& directory, unsigned seed) {
  Cache cache(directory, 200'000);
  for (unsigned i = seed;; i = (i * 69069 + 1) & 0xffff) {
    const std::string key = std::to_string(1000 + i % 400);
    const auto value = cache.Get(key);
    const std::string right = key + std::string(static_cast<size_t>(1000), 'v');
    if (value && *value != right) _exit(3);
    if (!value) cache.Put(key, right);
  }
}

TEST(KilledProcessesLeaveNothingTornAndNothingBehind) {
  const TemporaryDirectory directory;
  for (int round = 0; round < 8; ++round) {
    std::vector<pid_t> children;
    for (int i = 0; i < 4; ++i) {
      children.push_back(fork());
      if (children.back() == 0)
        Churn(directory.path(), static_cast<unsigned>(round * 4 + i));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(60 + 10 * round));
    for (const pid_t child : children) {
      int status = 0;
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      CHECK(WIFSIGNALED(status));
    }
  }
  Cache cache(directory.path(), 200'000);
  int64_t total = 0;
  int entries = 0;
  for (const auto& entry :
       fs::recursive_directory_iterator(directory.path() + "/builds")) {
    if (!entry.is_regular_file()) continue;
    CHECK(entry.path().extension() != ".new");
    total += static_cast<int64_t>(entry.file_size());
    ++entries;
  }
  CHECK(entries > 10);
  CHECK(total <= 200'000);
}

int main() { return jaxkern::testing::RunTests(); }
