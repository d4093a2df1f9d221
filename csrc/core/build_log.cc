#include "core/build_log.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>

#include "core/fd.h"

namespace jaxkern {
namespace {

constexpr off_t kMostBytes = 8 << 20;
constexpr size_t kCompared = 256;  // sources that may be the nearest
constexpr size_t kShown = 80;

std::string Line(const BuildRecord& record) {
  std::string line = record.key + " " + record.text;
  for (const auto& [name, hash] : record.parts) line += " " + name + "=" + hash;
  return line + "\n";
}

std::optional<BuildRecord> Parse(const std::string& line) {
  std::istringstream words(line);
  BuildRecord record;
  if (!(words >> record.key >> record.text)) return std::nullopt;
  for (std::string word; words >> word;) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos) return std::nullopt;
    record.parts[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return record;
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// Names of the parts that are not the same.
std::string Differing(const BuildRecord& a, const BuildRecord& b, int* count) {
  std::set<std::string> names;
  for (const auto* record : {&a, &b}) {
    for (const auto& [name, hash] : record->parts) names.insert(name);
  }
  const auto hash = [](const BuildRecord& record, const std::string& name) {
    const auto found = record.parts.find(name);
    return found == record.parts.end() ? "" : found->second;
  };
  std::string list;
  *count = 0;
  for (const std::string& name : names) {
    if (hash(a, name) == hash(b, name)) continue;
    list += (list.empty() ? "" : ", ") + name;
    ++*count;
  }
  return list;
}

std::string Shown(const std::vector<std::string>& lines, size_t at) {
  if (at >= lines.size()) return "nothing";
  const size_t begin = lines[at].find_first_not_of(" \t");
  const std::string text =
      begin == std::string::npos ? "" : lines[at].substr(begin, kShown);
  return "`" + text + "`";
}

/// How many lines two texts share at their beginnings, and at their ends.
struct Shared {
  size_t first = 0, last = 0;
};

Shared Compare(const std::vector<std::string>& a,
               const std::vector<std::string>& b) {
  Shared shared;
  const size_t most = std::min(a.size(), b.size());
  while (shared.first < most && a[shared.first] == b[shared.first]) {
    ++shared.first;
  }
  while (shared.first + shared.last < most &&
         a[a.size() - 1 - shared.last] == b[b.size() - 1 - shared.last]) {
    ++shared.last;
  }
  return shared;
}

}  // namespace

void BuildLog::Append(const BuildRecord& record) const {
  const Fd file(
      open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666));
  if (!file) return;
  const std::string line = Line(record);
  // One write, which the system does not mix with others'.
  if (write(file.get(), line.data(), line.size()) < 0) return;
  struct stat now = {};
  if (fstat(file.get(), &now) == 0 && now.st_size > kMostBytes) Shorten();
}

/// Lines that others append meanwhile are lost, which costs an explanation.
void BuildLog::Shorten() const {
  const Fd lock(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!lock || flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return;
  const std::vector<BuildRecord> records = Read();
  const std::string made = path_ + ".new";
  std::ofstream file(made, std::ios::binary | std::ios::trunc);
  for (size_t i = records.size() / 2; i < records.size(); ++i) {
    file << Line(records[i]);
  }
  file.close();
  if (!file || std::rename(made.c_str(), path_.c_str()) != 0) {
    unlink(made.c_str());
  }
}

std::vector<BuildRecord> BuildLog::Read() const {
  std::vector<BuildRecord> records;
  std::ifstream file(path_, std::ios::binary);
  for (std::string line; std::getline(file, line);) {
    if (auto record = Parse(line)) records.push_back(std::move(*record));
  }
  return records;
}

std::string BuildLog::Explain(
    const BuildRecord& wanted, const std::string& source,
    const std::function<std::optional<std::string>(const std::string& key)>&
        source_of) const {
  const std::vector<BuildRecord> records = Read();
  const BuildRecord* same_text = nullptr;
  std::string differing;
  int fewest = 0;
  for (const BuildRecord& record : records) {
    if (record.key == wanted.key) {
      return "evicted: it was stored before, and is not there any more";
    }
    if (record.text != wanted.text) continue;
    int count = 0;
    const std::string names = Differing(wanted, record, &count);
    if (same_text != nullptr && count > fewest) continue;
    same_text = &record;
    differing = names;
    fewest = count;
  }
  if (same_text != nullptr) {
    return differing.empty()
               ? "layout: the same code was refused with its lines elsewhere, "
                 "and what was said of those would not fit"
               : "stored for another " + differing;
  }
  const std::vector<std::string> lines = Lines(source);
  std::string nearest;
  size_t most = 0, looked = 0;
  for (size_t i = records.size(); i-- > 0 && looked < kCompared; ++looked) {
    const auto stored = source_of(records[i].key);
    if (!stored) continue;
    const std::vector<std::string> others = Lines(*stored);
    const Shared shared = Compare(lines, others);
    const size_t total = shared.first + shared.last;
    // What has less than half of its lines in common is something else.
    if (total <= most || 2 * total < lines.size()) continue;
    most = total;
    nearest = "source: line " + std::to_string(shared.first + 1) + " is " +
              Shown(lines, shared.first) + ", in the nearest stored one " +
              Shown(others, shared.first);
  }
  return nearest.empty() ? "never seen: nothing like it was stored" : nearest;
}

}  // namespace jaxkern
