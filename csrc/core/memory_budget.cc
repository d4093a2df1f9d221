#include "core/memory_budget.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>

#include "core/protocol.h"

namespace jaxkern {
namespace {

// Of a cpu worker's address space: arrays and what a candidate allocates,
// stacks for a block's threads per core, and the program itself.
constexpr int64_t kData = int64_t{4} << 30;
constexpr int64_t kStacksPerCore = int64_t{256} << 20;
constexpr int64_t kProgram = int64_t{256} << 20;

int64_t Stacks() {
  return kStacksPerCore * std::max(1U, std::thread::hardware_concurrency());
}

std::string Mebibytes(int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MiB",
                static_cast<double>(bytes) / (1 << 20));
  return text;
}

}  // namespace

int64_t WorkerMemory(const std::string& device, int64_t asked) {
  const bool cpu = device == "cpu";
  if (asked == 0) return cpu ? kData + Stacks() : 0;
  const int64_t least = cpu ? kProgram + Stacks() : 1;
  // The GPU's own memory is the worker's to check.
  const int64_t most =
      cpu ? sysconf(_SC_PHYS_PAGES) * int64_t{1} * sysconf(_SC_PAGESIZE)
          : std::numeric_limits<int64_t>::max();
  if (asked >= least && asked <= most) return asked;
  throw std::invalid_argument(
      "memory_bytes: expected 0, or at least " + std::to_string(least) +
      (cpu ? " and at most this machine's " + std::to_string(most) : "") +
      ", got " + std::to_string(asked));
}

void RequireRoom(const Problem& problem, const Options& options,
                 int repetitions, int64_t memory_bytes) {
  if (memory_bytes == 0) return;
  int64_t room = memory_bytes;
  if (options.device == "cpu") {
    // All inputs and the slots for results are mapped there as well.
    JobOptions job_options;
    job_options.repetitions = repetitions;
    const Job job =
        MakeJob(problem, job_options,
                std::vector<JobBaseline>(
                    repetitions > 0 ? problem.baselines.size() : 0));
    room -= kProgram + Stacks() +
            static_cast<int64_t>(job.input_bytes + job.result_bytes);
  }
  for (const Case& c : problem.cases) {  // one at a time is there as a whole
    const auto bytes = static_cast<int64_t>(Bytes(c));
    if (bytes <= room) continue;
    throw std::invalid_argument(
        "problem: expected arrays that fit in a worker's memory_bytes = " +
        std::to_string(memory_bytes) + ", got " + Mebibytes(bytes) +
        " in case " + c.label + " of " + problem.name + ", with room for " +
        Mebibytes(std::max<int64_t>(room, 0)));
  }
}

}  // namespace jaxkern
