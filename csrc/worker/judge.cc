#include "worker/judge.h"

#include "worker/cuda_error.h"

namespace jaxkern {

namespace {

bool enforced = true;

}  // namespace

void EnforceRules(bool enforce) { enforced = enforce; }

Event Failed(Status status, const std::string& text) {
  Event event;
  event.status = status;
  event.text = text;
  return event;
}

Event Cheating(const std::string& rule, const std::string& evidence) {
  if (!enforced) return Event();
  Event event = Failed(Status::kCheating, evidence);
  event.rule = rule;
  event.reusable = false;
  return event;
}

Event JudgeHostWrite(const std::string& output) {
  if (output.empty()) return Event();
  return Cheating("host_work",
                  output + " was copied from host memory, not computed there");
}

Event NotSetUp(const DeviceError& error) {
  Event event = Failed(Status::kInfraError,
                       "cannot set up the case's buffers: " + error.message);
  event.reusable = false;
  return event;
}

Event Judge(const DeviceError& error, const Measurement& measured) {
  const int returned = measured.returned;
  const int code = error.code != 0 ? error.code : returned;
  Event event;
  if (code == 0 && measured.unjoined > 0) {
    return Cheating("hidden_work",
                    std::to_string(measured.unjoined) +
                        " launches on streams that the given stream was not "
                        "made to wait for");
  }
  if (code == 0) return event;
  event.text = error.message.empty()
                   ? "launch returned " + CudaErrorName(returned)
                   : error.message;
  event.reusable = !error.fatal;
  if (error.unsupported) {
    event.status = Status::kUnsupported;
  } else if (error.out_of_memory || code == kCudaErrorMemoryAllocation) {
    event.status = Status::kOutOfMemory;
  } else if (error.fatal || IsCudaFault(code)) {
    event.status = Status::kRuntimeError;
  } else {
    event.status = Status::kLaunchError;
  }
  return event;
}

}  // namespace jaxkern
