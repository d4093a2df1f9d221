#include "core/problem_store.h"

#include <sys/stat.h>

#include <algorithm>

namespace jaxkern {
namespace {

std::string Stamp(const std::string& directory) {
  struct stat file = {};
  if (stat((directory + "/problem.json").c_str(), &file) != 0) return "";
  return std::to_string(file.st_dev) + ":" + std::to_string(file.st_ino) + ":" +
         std::to_string(file.st_size) + ":" +
         std::to_string(file.st_mtim.tv_sec) + ":" +
         std::to_string(file.st_mtim.tv_nsec);
}

size_t Bytes(const Problem& problem) {
  return problem.inputs.bytes + problem.expected.bytes;
}

}  // namespace

std::shared_ptr<const Problem> ProblemStore::Get(const std::string& directory) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::string stamp = Stamp(directory);
  const auto found = std::find_if(
      entries_.begin(), entries_.end(),
      [&](const Entry& entry) { return entry.directory == directory; });
  if (found != entries_.end() && found->stamp == stamp) {
    entries_.splice(entries_.begin(), entries_, found);
    return entries_.front().problem;
  }
  Entry entry{directory, stamp, ReadProblem(directory)};
  if (found != entries_.end()) entries_.erase(found);
  entries_.push_front(std::move(entry));
  size_t total = 0;
  for (auto it = entries_.begin(); it != entries_.end();) {
    total += Bytes(*it->problem);
    const bool drop = total > max_bytes_ && it != entries_.begin();
    it = drop ? entries_.erase(it) : std::next(it);
  }
  return entries_.front().problem;
}

}  // namespace jaxkern
