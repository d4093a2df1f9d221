// jaxkern-worker --device=cpu|cuda: runs candidates for an evaluator that it
// talks to over descriptor 3. See core/protocol.h.
#include <fcntl.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "backends/device.h"
#include "core/protocol.h"
#include "worker/run_job.h"

namespace jaxkern {
namespace {

constexpr int kChannel = 3;

int Serve(bool cuda) {
  std::string error;
  const std::unique_ptr<Device> device =
      cuda ? MakeCudaDevice(&error) : MakeCpuDevice(&error);
  Event ready;
  ready.kind = Event::Kind::kReady;
  ready.status = device ? Status::kOk : Status::kInfraError;
  ready.text = device ? device->Describe() : error;
  if (!SendEvent(kChannel, ready) || !device) return 1;
  while (true) {
    Job job;
    std::vector<Fd> memory;
    if (!ReceiveJob(kChannel, &job, &memory)) return 0;
    const Event done = RunJob(device.get(), job, std::move(memory), kChannel);
    std::fflush(nullptr);
    if (!SendEvent(kChannel, done)) return 0;
  }
}

}  // namespace
}  // namespace jaxkern

int main(int argc, char** argv) {
  const bool cpu = argc == 2 && std::strcmp(argv[1], "--device=cpu") == 0;
  const bool cuda = argc == 2 && std::strcmp(argv[1], "--device=cuda") == 0;
  if ((!cpu && !cuda) || fcntl(jaxkern::kChannel, F_GETFD) < 0) {
    std::fprintf(stderr, "jaxkern-worker is started by the evaluator only\n");
    return 2;
  }
  fcntl(jaxkern::kChannel, F_SETFD, FD_CLOEXEC);
  // What a kernel printed must not be lost with the process.
  std::setvbuf(stdout, nullptr, _IOLBF, 1 << 12);
  return jaxkern::Serve(cuda);
}
