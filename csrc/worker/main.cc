// jaxkern-worker --device=cpu|cuda [--memory=BYTES]: runs candidates for an
// evaluator that it talks to over descriptor 3, see core/protocol.h. Its
// working directory is the only one that candidates may write in. BYTES must be
// free on the device. With --examine=SECONDS it is compute-sanitizer that
// starts it, and all it does is said in worker/examine.h.
#include <fcntl.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "backends/device.h"
#include "core/protocol.h"
#include "core/sandbox.h"
#include "core/worker_process.h"
#include "worker/baselines.h"
#include "worker/examine.h"
#include "worker/footprint.h"
#include "worker/run_job.h"

namespace jaxkern {
namespace {

constexpr int kChannel = 3;

struct Flags {
  std::string device;
  int64_t memory_bytes = 0;
  double examine_s = 0;
};

bool ParseFlags(int argc, char** argv, Flags* flags) {
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.rfind("--device=", 0) == 0) {
      flags->device = argument.substr(9);
    } else if (argument.rfind("--memory=", 0) == 0) {
      flags->memory_bytes = std::atoll(argument.c_str() + 9);
    } else if (argument.rfind("--examine=", 0) == 0) {
      flags->examine_s = std::atof(argument.c_str() + 10);
    } else {
      return false;
    }
  }
  return flags->device == "cpu" || flags->device == "cuda";
}

/// The device, if it has the memory that is asked for.
std::unique_ptr<Device> MakeDevice(const Flags& flags, std::string* error) {
  auto device =
      flags.device == "cuda" ? MakeCudaDevice(error) : MakeCpuDevice(error);
  if (!device || flags.memory_bytes == 0) return device;
  const int64_t free = device->FreeBytes();
  if (free >= flags.memory_bytes) return device;
  *error = "memory_bytes: expected at most the " + std::to_string(free) +
           " bytes that are free on it, got " +
           std::to_string(flags.memory_bytes);
  return nullptr;
}

/// Baselines come and go around the candidate; what they change in passing is
/// not its doing. False when the evaluator has gone.
bool RunOne(Device* device, const Job& job, std::vector<Fd> memory,
            Footprint* clean) {
  auto baselines = std::make_unique<Baselines>(device, job);
  Footprint before = TakeFootprint(device);
  const size_t handed_over = memory.size();
  Event done = baselines->Prepare(&memory, kChannel);
  // The descriptors of the job itself are closed with it.
  before.descriptors -= static_cast<int>(handed_over);
  Footprint after = TakeFootprint(device);
  after.descriptors -= static_cast<int>(memory.size());
  Shift(before, after, clean);
  if (done.status == Status::kOk) {
    done =
        RunJob(device, job, std::move(memory), baselines->entries(), kChannel);
  }
  std::fflush(nullptr);
  before = TakeFootprint(device);
  done.reusable = done.reusable && IsClean(*clean, before);
  const bool sent = SendEvent(kChannel, done);
  baselines.reset();
  Shift(before, TakeFootprint(device), clean);
  return sent;
}

int Serve(const Flags& flags) {
#ifdef __SANITIZE_THREAD__
  // It starts a thread of its own with the process's first, and that must not
  // be one that a candidate starts: it would count as left behind.
  std::thread([] {}).join();
#endif
  std::string error;
  const std::unique_ptr<Device> device = MakeDevice(flags, &error);
  Event ready;
  ready.kind = Event::Kind::kReady;
  ready.status = device ? Status::kOk : Status::kInfraError;
  // A GPU's driver starts up before it is shut in; no candidate has run yet.
  ready.text = device ? device->Describe() + "\n" +
                            EnterSandbox(".", flags.device == "cuda")
                      : error;
  if (!SendEvent(kChannel, ready) || !device) return 1;
  Footprint clean = TakeFootprint(device.get());
  while (true) {
    Job job;
    std::vector<Fd> memory;
    if (!ReceiveJob(kChannel, &job, &memory)) return 0;
    if (!RunOne(device.get(), job, std::move(memory), &clean)) {
      return kChannelLost;
    }
  }
}

/// Under Landlock from the start, and not under seccomp, which refuses what
/// compute-sanitizer does in this process.
int Examine(const Flags& flags) {
  EndAfter(flags.examine_s);
  std::string error;
  const std::unique_ptr<Device> device = MakeDevice(flags, &error);
  if (!device) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return 1;
  }
  GiveUpPrivileges();
  return ExamineJob(device.get(), ".");
}

}  // namespace
}  // namespace jaxkern

int main(int argc, char** argv) {
  jaxkern::Flags flags;
  const bool understood = jaxkern::ParseFlags(argc, argv, &flags);
  if (understood && flags.examine_s > 0) return jaxkern::Examine(flags);
  if (!understood || fcntl(jaxkern::kChannel, F_GETFD) < 0) {
    std::fprintf(stderr, "jaxkern-worker is started by the evaluator only\n");
    return 2;
  }
  fcntl(jaxkern::kChannel, F_SETFD, FD_CLOEXEC);
  // What a kernel printed must not be lost with the process.
  std::setvbuf(stdout, nullptr, _IOLBF, 1 << 12);
  return jaxkern::Serve(flags);
}
