#include "worker/examine.h"

#include <fcntl.h>
#include <sys/time.h>

#include <cstdint>
#include <fstream>
#include <memory>
#include <sstream>
#include <utility>
#include <vector>

#include "core/examination.h"
#include "core/fd.h"
#include "core/memory_file.h"
#include "core/protocol.h"
#include "worker/arguments.h"
#include "worker/library.h"

namespace jaxkern {
namespace {

std::string ReadText(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

/// Says where a case's arrays lie, before they are used.
void WriteAddresses(const std::string& path, size_t index, const JobCase& c,
                    const Arguments& arguments) {
  std::ofstream file(path, std::ios::app);
  for (size_t i = 0; i < c.values.size(); ++i) {
    if (arguments.array(i) == nullptr) continue;
    file << index << " " << i << " "
         << reinterpret_cast<uintptr_t>(arguments.array(i)) << "\n";
  }
}

bool RunCase(Device* device, Entry entry, Arguments* arguments) {
  Measurement measured;
  const Batch batch{entry, {arguments->pointers(0)}, {}};
  return device->Measure(batch, Mode(), &measured).code == 0;
}

}  // namespace

int ExamineJob(Device* device, const std::string& directory) {
  std::ofstream(directory + "/" + kArraysFile).close();
  Fd code(open((directory + "/" + kLibraryFile).c_str(), O_RDONLY | O_CLOEXEC));
  if (!code) return 1;
  const Job job = ParseJob(ReadText(directory + "/" + kJobFile));
  const Fd inputs(open((directory + "/" + kInputsFile).c_str(), O_RDONLY));
  const Mapping mapped(inputs.get(), job.input_bytes, /*writable=*/false);
  if (mapped.bytes != job.input_bytes) return 1;
  const Library library(*device, std::move(code));
  if (library.entry() == nullptr) return 1;
  std::vector<std::unique_ptr<Arguments>> all;
  for (size_t i = 0; i < job.cases.size(); ++i) {
    const JobCase& c = job.cases[i];
    all.push_back(std::make_unique<Arguments>(device, c, Layout::kExact));
    if (all.back()->Allocate().code != 0) break;
    WriteAddresses(directory + "/" + kArraysFile, i, c, *all.back());
    const Inputs inputs(device, c, mapped.data);
    if (all.back()->Fill(inputs, {0}).code != 0) break;
    if (!RunCase(device, library.entry(), all.back().get())) break;
  }
  return 0;
}

void EndAfter(double seconds) {
  const auto microseconds = static_cast<int64_t>(seconds * 1e6);
  itimerval timer = {};
  timer.it_value = {microseconds / 1'000'000, microseconds % 1'000'000};
  setitimer(ITIMER_REAL, &timer, nullptr);
}

}  // namespace jaxkern
