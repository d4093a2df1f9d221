#include "core/build_log.h"

#include <map>
#include <thread>

#include "check.h"

using jaxkern::BuildLog;
using jaxkern::BuildRecord;
using jaxkern::testing::TemporaryDirectory;

namespace {

BuildRecord Record(const std::string& key, const std::string& text,
                   const std::string& compiler = "c1",
                   const std::string& flags = "f1") {
  return {key, text, {{"compiler", compiler}, {"flags", flags}}};
}

/// A log, and the sources of what is still stored.
struct Fixture {
  std::string Explain(const BuildRecord& wanted, const std::string& source) {
    return log.Explain(
        wanted, source,
        [this](const std::string& key) -> std::optional<std::string> {
          const auto found = sources.find(key);
          if (found == sources.end()) return std::nullopt;
          return found->second;
        });
  }

  TemporaryDirectory directory;
  BuildLog log{directory.path() + "/log"};
  std::map<std::string, std::string> sources;
};

}  // namespace

TEST(WhatWasNeverStoredIsNew) {
  Fixture f;
  CHECK_HAS(f.Explain(Record("k1", "t1"), "a\nb\n"), "never seen");
  f.log.Append(Record("k2", "t2"));
  f.sources["k2"] = "x\ny\n";
  CHECK_HAS(f.Explain(Record("k1", "t1"), "a\nb\n"), "never seen");
}

TEST(WhatWasStoredAndHasGoneWasEvicted) {
  Fixture f;
  f.log.Append(Record("k1", "t1"));
  CHECK_HAS(f.Explain(Record("k1", "t1"), "a\n"), "evicted");
}

TEST(ThePartThatDiffersIsNamed) {
  Fixture f;
  f.log.Append(Record("k1", "t1", "c0", "f0"));
  CHECK_EQ(f.Explain(Record("k2", "t1"), "a\n"),
           "stored for another compiler, flags");
  f.log.Append(Record("k3", "t1", "c1", "f0"));
  CHECK_EQ(f.Explain(Record("k2", "t1"), "a\n"), "stored for another flags");
  BuildRecord wanted = Record("k2", "t1", "c1", "f0");
  wanted.parts["headers"] = "h";
  CHECK_EQ(f.Explain(wanted, "a\n"), "stored for another headers");
}

TEST(ARefusedTextWithAnotherLayoutIsToldApart) {
  Fixture f;
  f.log.Append(Record("k1", "t1"));
  CHECK_HAS(f.Explain(Record("k2", "t1"), "a\n"), "layout: ");
}

TEST(TheFirstDifferingLineOfTheNearestSourceIsShown) {
  Fixture f;
  f.log.Append(Record("k1", "t1"));
  f.log.Append(Record("k2", "t2"));
  f.sources["k1"] = "a\nb\n  c;\nd\n";
  f.sources["k2"] = "z\nb\ny\nd\n";
  CHECK_EQ(f.Explain(Record("k3", "t3"), "a\nb\nC;\nd\n"),
           "source: line 3 is `C;`, in the nearest stored one `c;`");
  CHECK_EQ(f.Explain(Record("k3", "t3"), "a\nb\n  c;\nd\ne\n"),
           "source: line 5 is `e`, in the nearest stored one nothing");
}

TEST(LinesOfManyWritersStayWhole) {
  Fixture f;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&f, t] {
      for (int i = 0; i < 200; ++i) {
        f.log.Append(Record("k" + std::to_string(t), std::to_string(i)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto records = f.log.Read();
  CHECK_EQ(records.size(), 800u);
  for (const BuildRecord& record : records) {
    CHECK_EQ(record.parts.at("compiler"), "c1");
  }
}

TEST(ALongLogLosesItsOlderHalf) {
  Fixture f;
  const std::string old(1000, 'o');
  {
    std::ofstream file(f.directory.path() + "/log");
    for (int i = 0; i < 9000; ++i) file << "k" << i << " " << old << "\n";
    file << "torn";
  }
  f.log.Append(Record("last", "t"));  // completes the torn line: both are lost
  f.log.Append(Record("newest", "t"));
  const auto records = f.log.Read();
  CHECK(records.size() > 4000 && records.size() < 5000);
  CHECK_EQ(records.back().key, "newest");
}

int main() { return jaxkern::testing::RunTests(); }
