#include "core/cache.h"

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
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
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

TEST(AKilledWritersLeftoverIsRemovedLater) {
  const TemporaryDirectory directory;
  fs::create_directories(directory.path() + "/builds");
  const std::string left = directory.Write("builds/1-1.new", "torn");
  Cache(directory.path(), 1000);
  CHECK(fs::exists(left));  // it may still be being written
  fs::last_write_time(left,
                      fs::file_time_type::clock::now() - std::chrono::hours(2));
  Cache(directory.path(), 1000);
  CHECK(!fs::exists(left));
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

int main() { return jaxkern::testing::RunTests(); }
